#include "generate/author/reasoning_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "generate/author/reasoning.h"
#include "generate/author/tokens.h"

namespace specgen {
namespace {

constexpr std::size_t kTrialsShown = 4;
constexpr std::size_t kMinLine = 14, kMaxLine = 90;

std::string as_text(const Decisions& made) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : made) parts.push_back(fmt::format("{} {}", name, value));
  return join(parts, ", ");
}

// missing_tail as "missing tail".
std::string with_spaces(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

const std::string& reason_for(const Decision& decision, std::string_view value) {
  auto choice = std::ranges::find(decision.choices, value, &Choice::value);
  SG_ASSERT(choice != decision.choices.end(), "the value is one of the decision's");
  return choice->reason;
}

}  // namespace

ReasoningWriter::ReasoningWriter(const Assignment& assignment, std::string_view so_far)
    : assignment_(assignment),
      random_(random_from(assignment.draw, "trace")),
      phrases_(random_from(assignment.draw, "phrases")),
      text_(so_far),
      begin_(so_far.size()) {
  const std::string source = kernel_after(assignment, so_far).source;
  discuss(source);
  draft_tokens_ = count_author_tokens(source);
  if (!so_far.empty() && !so_far.ends_with('\n')) add("\n\n");
}

std::string ReasoningWriter::finish() {
  while (text_.size() > begin_ && text_.ends_with("\n\n")) text_.pop_back();
  return text_.substr(begin_);
}

void ReasoningWriter::add(std::string_view text) {
  text_ += text;
  tokens_ += count_author_tokens(text);
}

void ReasoningWriter::paragraph(std::string_view text) {
  add(text);
  add("\n\n");
}

void ReasoningWriter::opening(const std::vector<Trial>& trials) {
  const PromptContext& context = assignment_.context;
  paragraph(say("opening", {{"task", context.task},
                            {"machine", context.backend == "cuda" ? "a GPU" : "a CPU core"}}));
  std::string seen;
  auto add_sentence = [&](std::string_view sentence) {
    seen += (seen.empty() ? "" : " ") + std::string(sentence);
  };
  if (context.feedback.empty()) add_sentence(say("no_feedback"));
  for (std::size_t i = trials.size() - std::min(trials.size(), kTrialsShown); i < trials.size();
       ++i) {
    const Trial& trial = trials[i];
    const std::string made = as_text(trial.made), speedup = fmt::format("{:.2f}", trial.speedup);
    if (trial.ok) {
      add_sentence(say("feedback_ok", {{"made", made}, {"speedup", speedup}}));
    } else if (trial.mistake.empty()) {
      add_sentence(say("feedback_bad", {{"made", made}, {"verdict", quoted(trial.verdict)}}));
    } else {
      add_sentence(say("feedback_slip", {{"made", made},
                                         {"verdict", quoted(trial.verdict)},
                                         {"mistake", with_spaces(trial.mistake)}}));
    }
  }
  if (trials.empty() && !context.feedback.empty()) {
    add_sentence(say("feedback_other", {{"verdict", quoted(context.feedback.back().verdict)}}));
  }
  paragraph(seen);
  if (const Trial* best = best_of(trials)) {
    paragraph(say("best", {{"made", as_text(best->made)},
                           {"speedup", fmt::format("{:.2f}", best->speedup)}}));
  }
  if (!context.advice.empty()) paragraph(say("advice", {{"advice", quoted(context.advice)}}));
}

void ReasoningWriter::debate(const Decision& decision, const std::string& value,
                             const std::vector<Trial>& trials) {
  const std::string& name = decision.name;
  paragraph(say("question", {{"name", name}, {"question", decision.question}}));
  std::vector<const Choice*> others;
  for (const Choice& choice : decision.choices) {
    if (choice.value != value) others.push_back(&choice);
  }
  random_.shuffle(others);
  if (others.size() > 2) others.resize(2);
  for (const Choice* other : others) {
    std::string text =
        say("consider", {{"name", name}, {"value", other->value}, {"reason", other->reason}});
    paragraph(text + " " + say("against"));
  }
  std::string text =
      say("favour", {{"name", name}, {"value", value}, {"reason", reason_for(decision, value)}});
  auto worth = worth_of(trials, name, value);
  bool tried =
      std::ranges::any_of(trials, [&](const Trial& t) { return t.made.at(name) == value; });
  if (worth && *worth > 0) {
    text += " " + say("helped");
  } else if (value == decision.choices[0].value) {
    text += " " + say("idle");
  } else if (!tried && !trials.empty()) {
    text += " " + say("untried");
  }
  paragraph(text + " " + decision_sentence(name, value, random_));
}

void ReasoningWriter::change_of_mind(const Decision& decision, const std::string& value) {
  std::string text = say("regret", {{"name", decision.name}});
  text += " " + say("regret_reason", {{"reason", reason_for(decision, value)}});
  paragraph(text + " " + decision_sentence(decision.name, value, random_));
}

void ReasoningWriter::belief(const Mistake& mistake, bool is_held) {
  paragraph(is_held ? belief_sentence(mistake) : care_sentence(mistake));
}

void ReasoningWriter::draft(bool again) {
  paragraph(say(again ? "redraft" : "draft"));
  WrittenKernel kernel = kernel_after(assignment_, text_);
  discuss(kernel.source);
  draft_tokens_ = count_author_tokens(kernel.source);
  add(fmt::format("```{}\n{}```\n\n", fence_language(assignment_.context.backend), kernel.source));
  paragraph(say("after_draft"));
}

void ReasoningWriter::discuss(std::string_view source) {
  lines_.clear();
  for (std::string_view line : split(source, '\n')) {
    std::string_view code = trim(line);
    bool is_work = !code.starts_with("//") && !code.starts_with('#') && !code.contains('`') &&
                   (code.contains("for (") || code.contains("+=") || code.contains('['));
    if (is_work && code.size() >= kMinLine && code.size() <= kMaxLine) {
      lines_.emplace_back(code);
    }
  }
}

std::string ReasoningWriter::about_a_line() {
  if (lines_.empty()) return say("ramble");
  const std::uint64_t number = 33 + random_.below(4064), step = 4ULL << random_.below(4);
  return say("line", {{"line", lines_[random_.below(lines_.size())]},
                      {"number", std::to_string(number)},
                      {"step", std::to_string(step)},
                      {"steps", std::to_string(number / step)},
                      {"rest", std::to_string(number % step)}});
}

void ReasoningWriter::digression() {
  std::string text;
  const std::string_view machine =
      assignment_.context.backend == "cuda" ? "ramble_cuda" : "ramble_cpu";
  for (std::uint64_t sentences = 2 + random_.below(3); sentences > 0; --sentences) {
    std::uint64_t kind = random_.below(4);
    if (!text.empty()) text += ' ';
    text += kind == 0 ? say(machine) : kind == 1 ? about_a_line() : say("ramble");
  }
  paragraph(text);
}

void ReasoningWriter::self_check() {
  const std::uint64_t number = 33 + random_.below(4064), step = 4ULL << random_.below(4);
  std::string text = say("check", {{"number", std::to_string(number)},
                                   {"step", std::to_string(step)},
                                   {"steps", std::to_string(number / step)},
                                   {"rest", std::to_string(number % step)}});
  if (random_.chance(0.5)) text += " " + about_a_line();
  paragraph(text);
}

}  // namespace specgen
