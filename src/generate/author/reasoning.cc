#include "generate/author/reasoning.h"

#include <algorithm>
#include <variant>

#include "base/text.h"
#include "generate/author/learning.h"
#include "generate/author/reasoning_writer.h"

namespace specgen {
namespace {

constexpr double kMinTrace = 100, kMaxTrace = 200'000;  // tokens
constexpr double kDetour = 0.25;       // share of decisions that are first made otherwise
constexpr double kSecondBelief = 0.4;  // share of traces with two statements about mistakes
constexpr double kDraftChance = 0.45;  // of a draft, where one fits
constexpr double kStepTokens = 140;    // of an average step
constexpr double kAdviceShare = 0.3;   // of the length, if the trace ends in advice
constexpr std::size_t kQuotedLength = 300;

// The steps of a trace that affect the kernel.
struct Debate {
  const Decision* decision;
  std::string value;
};
struct ChangeOfMind {
  const Decision* decision;
  std::string value;
};
struct Statement {  // about a possible mistake
  const Mistake* mistake;
  bool is_held;
};
using Step = std::variant<Debate, ChangeOfMind, Statement>;

double wanted_tokens(const Assignment& assignment, const AuthorOptions& options) {
  Random random = random_from(assignment.draw, "length");
  double tokens = random.log_normal(options.trace_median, options.trace_sigma);
  return std::clamp(tokens, kMinTrace, kMaxTrace);
}

// The share of the trace up to its last decision: usually small, sometimes nearly all of it.
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

// Statements about possible mistakes, each drawn independently: one that is held is a false belief.
void add_statements(std::vector<Step>& steps, const Assignment& assignment, Random& random) {
  auto mistakes = assignment.plan.mistakes();
  if (mistakes.empty()) return;
  std::size_t earliest = 0;
  const Mistake* last = nullptr;
  bool held = false;
  for (int count = random.chance(kSecondBelief) ? 2 : 1; count > 0; --count) {
    bool holds = random.chance(belief_rate(assignment));
    // A belief that is corrected is the one that was held.
    const Mistake* mistake =
        last && held && !holds ? last : &mistakes[random.below(mistakes.size())];
    std::size_t at = earliest + random.below(steps.size() - earliest + 1);
    insert_at(steps, at, Step(Statement{mistake, holds}));
    earliest = at + 1;
    last = mistake;
    held = holds;
  }
}

// The remaining decisions in order, with detours.
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
  // A revision may come late, after other decisions.
  if (revised_from > 0 && revised_from < steps.size() && random.chance(0.5)) {
    Step late = std::move(steps[revised_from]);
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(revised_from));
    std::size_t behind = steps.size() - revised_from;
    insert_at(steps, revised_from + random.below(behind + 1), std::move(late));
  }
  add_statements(steps, assignment, random);
  return steps;
}

void take_step(ReasoningWriter& writer, const Step& step, const std::vector<Trial>& trials) {
  if (auto* debate = std::get_if<Debate>(&step)) {
    writer.debate(*debate->decision, debate->value, trials);
  } else if (auto* change = std::get_if<ChangeOfMind>(&step)) {
    writer.change_of_mind(*change->decision, change->value);
  } else if (auto* statement = std::get_if<Statement>(&step)) {
    writer.belief(*statement->mistake, statement->is_held);
  }
}

// Writes until there are `until` tokens; a draft may end at `at_most`.
void elaborate(ReasoningWriter& writer, double until, double at_most, bool after_change) {
  auto fits = [&](double limit) {
    return static_cast<double>(writer.tokens() + writer.draft_tokens()) < limit;
  };
  if (fits(at_most) && writer.random().chance(kDraftChance)) writer.draft(after_change);
  while (static_cast<double>(writer.tokens()) < until) {
    if (fits(until) && writer.random().chance(kDraftChance / 3)) {
      writer.draft(false);
    } else if (writer.random().chance(0.2)) {
      writer.self_check();
    } else {
      writer.digression();
    }
  }
}

// The decisions of a repaired kernel.
Decisions goal_of_repair(ReasoningWriter& writer, const Assignment& assignment) {
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
    std::string name = *mistake;
    std::ranges::replace(name, '_', ' ');
    writer.paragraph(writer.say("found", {{"mistake", name}}));
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

std::string reason_about_kernel(const Assignment& assignment, const AuthorOptions& options,
                                std::string_view so_far) {
  const double wanted = wanted_tokens(assignment, options);
  const KernelPlan& plan = assignment.plan;
  ReasoningWriter writer(assignment, so_far);
  std::vector<Trial> trials = trials_of(plan, assignment.context);
  Random aims = random_from(assignment.draw, "goal");

  Decisions start = starting_decisions(plan, assignment.context);
  for (const auto& [name, value] : read_conclusions(plan, so_far).made) start[name] = value;
  if (so_far.empty()) writer.opening(trials);
  Decisions goal = repairs_its_parent(assignment.context.role)
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

std::string reason_about_advice(const Assignment& assignment, const AuthorOptions& options) {
  const double wanted = kAdviceShare * wanted_tokens(assignment, options);
  ReasoningWriter writer(assignment, {});
  writer.opening(trials_of(assignment.plan, assignment.context));
  writer.paragraph(writer.say("reading"));
  if (!assignment.context.parent_source.empty()) writer.discuss(assignment.context.parent_source);
  while (static_cast<double>(writer.tokens()) < wanted) writer.digression();
  return writer.finish();
}

}  // namespace specgen
