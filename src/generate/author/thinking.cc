#include "generate/author/thinking.h"

#include <algorithm>
#include <variant>

#include "base/text.h"
#include "generate/author/learning.h"
#include "generate/author/trace_writer.h"

namespace specgen {
namespace {

constexpr double kShortestTrace = 100, kMaxTrace = 200'000;  // tokens
constexpr double kDetour = 0.25;       // of the decisions are first made otherwise
constexpr double kSecondBelief = 0.4;  // of the traces say twice what could go wrong
constexpr double kDraftWish = 0.45;    // of the stretches that have room for one
constexpr double kStepTokens = 140;    // about what a step takes
constexpr double kAdviceShare = 0.3;   // a trace that ends in advice is shorter
constexpr std::size_t kQuotedLength = 300;

// The steps of a trace that change what a kernel would be.
struct Debate {
  const Decision* decision;
  std::string value;
};
struct ChangeOfMind {
  const Decision* decision;
  std::string value;
};
struct Statement {  // about what could go wrong
  const Mistake* mistake;
  bool is_held;
};
using Step = std::variant<Debate, ChangeOfMind, Statement>;

double wanted_tokens(const Assignment& assignment, const AuthorOptions& options) {
  Random random = random_from(assignment.draw, "length");
  double tokens = random.log_normal(options.trace_median, options.trace_sigma);
  return std::clamp(tokens, kShortestTrace, kMaxTrace);
}

// The share of the trace in which it decides: small mostly, at times nearly all of it.
double deciding_share(const Assignment& assignment, const AuthorOptions& options) {
  constexpr double kMeanOfSquare = 1.0 / 3;
  Random random = random_from(assignment.draw, "slack");
  double drawn = random.uniform();
  double slack = options.slack * (1 - drawn * drawn) / (1 - kMeanOfSquare);
  return 1 - std::min(slack, 1.0);
}

template <class T>
void insert_at(std::vector<T>& items, std::size_t at, T item) {
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), std::move(item));
}

// Statements about what could go wrong, each a draw of its own: one that is held is a false belief.
void add_statements(std::vector<Step>& steps, const Assignment& assignment, Random& random) {
  auto mistakes = assignment.plan.mistakes();
  if (mistakes.empty()) return;
  std::size_t earliest = 0;
  const Mistake* last = nullptr;
  bool held = false;
  for (int count = random.chance(kSecondBelief) ? 2 : 1; count > 0; --count) {
    bool holds = random.chance(belief_rate(assignment));
    // To see through a belief is to see through that one.
    const Mistake* mistake =
        last && held && !holds ? last : &mistakes[random.below(mistakes.size())];
    std::size_t at = earliest + random.below(steps.size() - earliest + 1);
    insert_at(steps, at, Step(Statement{mistake, holds}));
    earliest = at + 1;
    last = mistake;
    held = holds;
  }
}

// What is left to decide, one after another, with detours.
std::vector<Step> steps_to(const Decisions& goal, const Decisions& start,
                           const Assignment& assignment, Random& random) {
  std::vector<Step> steps;
  std::size_t revised_from = 0;
  for (const Decision& decision : assignment.plan.decisions()) {
    const std::string& value = goal.at(decision.name);
    auto before = start.find(decision.name);
    if (before != start.end() && before->second == value) continue;
    std::vector<std::string> others;
    for (const Choice& choice : decision.choices) {
      if (choice.value != value) others.push_back(choice.value);
    }
    if (others.empty() || !random.chance(kDetour)) {
      steps.push_back(Debate{&decision, value});
      continue;
    }
    steps.push_back(Debate{&decision, others[random.below(others.size())]});
    revised_from = steps.size();
    steps.push_back(ChangeOfMind{&decision, value});
  }
  // A change of mind may come late: some wait until other things have been settled.
  if (revised_from > 0 && revised_from < steps.size() && random.chance(0.5)) {
    Step late = std::move(steps[revised_from]);
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(revised_from));
    std::size_t room = steps.size() - revised_from;
    insert_at(steps, revised_from + random.below(room + 1), std::move(late));
  }
  add_statements(steps, assignment, random);
  return steps;
}

void take_step(TraceWriter& writer, const Step& step, const std::vector<Trial>& trials) {
  if (auto* debate = std::get_if<Debate>(&step)) {
    writer.debate(*debate->decision, debate->value, trials);
  } else if (auto* change = std::get_if<ChangeOfMind>(&step)) {
    writer.change_of_mind(*change->decision, change->value);
  } else if (auto* statement = std::get_if<Statement>(&step)) {
    writer.belief(*statement->mistake, statement->is_held);
  }
}

// Goes on until `until` tokens are written; for a draft, until `at_most`.
void elaborate(TraceWriter& writer, double until, double at_most, bool after_change) {
  auto fits = [&](double limit) {
    return static_cast<double>(writer.tokens() + writer.draft_tokens()) < limit;
  };
  if (fits(at_most) && writer.random().chance(kDraftWish)) writer.draft(after_change);
  while (static_cast<double>(writer.tokens()) < until) {
    if (fits(until) && writer.random().chance(kDraftWish / 3)) {
      writer.draft(false);
    } else if (writer.random().chance(0.2)) {
      writer.self_check();
    } else {
      writer.digression();
    }
  }
}

// What to end with when a kernel is to be mended.
Decisions goal_of_repair(TraceWriter& writer, const Assignment& assignment) {
  const PromptContext& context = assignment.context;
  const KernelPlan& plan = assignment.plan;
  if (!context.feedback.empty()) {
    const PromptFeedback& last = context.feedback.back();
    writer.paragraph(writer.say(
        "repair", {{"verdict", quoted(last.verdict)}, {"evidence", quoted(last.evidence)}}));
  }
  Decisions goal = completed(plan, starting_decisions(plan, context));
  auto mistake = mistake_in(plan, context.parent_source);
  if (!mistake) {
    writer.paragraph(writer.say("foreign"));
  } else if (!mistake->empty()) {
    std::string spoken = *mistake;
    std::ranges::replace(spoken, '_', ' ');
    writer.paragraph(writer.say("found", {{"mistake", spoken}}));
  } else {
    writer.paragraph(writer.say("not_found"));
    std::vector<const Decision*> bold;
    for (const Decision& decision : plan.decisions()) {
      if (goal.at(decision.name) != decision.choices[0].value) bold.push_back(&decision);
    }
    if (!bold.empty()) {
      const Decision& retreat = *bold[writer.random().below(bold.size())];
      goal[retreat.name] = retreat.choices[0].value;
    }
  }
  return goal;
}

}  // namespace

std::string_view fence_language(std::string_view backend) {
  return backend == "cuda" ? "cuda" : "cpp";
}

std::string quoted(std::string_view text) {
  std::string line;
  for (char c : first_line(trim(text))) line += c == '`' ? '\'' : c;
  if (line.size() <= kQuotedLength) return line;
  std::size_t length = 0;
  while (length < kQuotedLength) {
    length += std::max<std::size_t>(1, character_length(std::string_view(line).substr(length)));
  }
  return line.substr(0, length) + " ...";
}

std::string think_of_kernel(const Assignment& assignment, const AuthorOptions& options,
                            std::string_view so_far) {
  const double wanted = wanted_tokens(assignment, options);
  const KernelPlan& plan = assignment.plan;
  TraceWriter writer(assignment, so_far);
  std::vector<Trial> trials = trials_of(plan, assignment.context);
  Random aims = random_from(assignment.draw, "goal");

  Decisions start = starting_decisions(plan, assignment.context);
  for (const auto& [name, value] : read_thought(plan, so_far).made) start[name] = value;
  if (so_far.empty()) writer.opening(trials);
  Decisions goal = mends_its_parent(assignment.context.role)
                       ? goal_of_repair(writer, assignment)
                       : next_goal(plan, assignment.context, aims);
  std::vector<NameAndValue> kept;
  for (const auto& [name, value] : start) {
    if (goal.at(name) == value) kept.emplace_back(name, value);
  }
  if (!kept.empty()) writer.paragraph(keeping_sentence(kept));

  std::vector<Step> steps = steps_to(goal, start, assignment, writer.random());
  const double deciding = wanted * deciding_share(assignment, options);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double to_go = kStepTokens * static_cast<double>(steps.size() - i);
    const double share = deciding * static_cast<double>(i + 1) / static_cast<double>(steps.size());
    elaborate(writer, share - kStepTokens, deciding - to_go,
              i > 0 && std::holds_alternative<ChangeOfMind>(steps[i - 1]));
    take_step(writer, steps[i], trials);
  }
  elaborate(writer, wanted, wanted, false);
  writer.paragraph(writer.say("closing"));
  return writer.finish();
}

std::string think_of_advice(const Assignment& assignment, const AuthorOptions& options) {
  const double wanted = kAdviceShare * wanted_tokens(assignment, options);
  TraceWriter writer(assignment, {});
  writer.opening(trials_of(assignment.plan, assignment.context));
  writer.paragraph(writer.say("reading"));
  if (!assignment.context.parent_source.empty()) writer.discuss(assignment.context.parent_source);
  while (static_cast<double>(writer.tokens()) < wanted) writer.digression();
  return writer.finish();
}

}  // namespace specgen
