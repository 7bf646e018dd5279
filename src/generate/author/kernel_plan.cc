#include "generate/author/kernel_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {

// Generated: the files kernels/BACKEND/TASK.kernel, which are part of the program.
std::span<const std::pair<std::string_view, std::string_view>> embedded_kernel_plans();

namespace {

constexpr std::string_view kMark = "//?";
constexpr std::string_view kSignature = "// author: ";
constexpr std::string_view kMistake = "mistake";

std::unexpected<Error> bad_plan(const std::string& where, std::string what) {
  return fail(ErrorCode::bad_config, where + ": " + std::move(what));
}

// "NAME: sentence" as its two parts.
std::optional<std::pair<std::string, std::string>> named(std::string_view text) {
  std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string name(trim(text.substr(0, colon)));
  std::string rest(trim(text.substr(colon + 1)));
  if (name.empty() || rest.empty()) return std::nullopt;
  return std::pair(std::move(name), std::move(rest));
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  std::string_view rest = text.substr(word.size());
  if (!rest.empty() && rest[0] != ' ') return false;
  text = trim(rest);
  return true;
}

}  // namespace

Result<void> KernelPlan::check(const std::vector<Condition>& conditions,
                               const std::string& where) const {
  for (const Condition& condition : conditions) {
    if (condition.name == kMistake) {
      if (condition.value == "none" ||
          std::ranges::find(mistakes_, condition.value, &Mistake::name) != mistakes_.end()) {
        continue;
      }
      return bad_plan(where, "there is no mistake '" + condition.value + "'");
    }
    auto decision = std::ranges::find(decisions_, condition.name, &Decision::name);
    if (decision == decisions_.end()) {
      return bad_plan(where, "there is no decision '" + condition.name + "'");
    }
    if (std::ranges::find(decision->choices, condition.value, &Choice::value) ==
        decision->choices.end()) {
      return bad_plan(where,
                      fmt::format("'{}' is not a choice of '{}'", condition.value, condition.name));
    }
  }
  return {};
}

Result<std::vector<KernelPlan::Condition>> KernelPlan::parse_conditions(
    std::string_view text, const std::string& where) const {
  std::vector<Condition> conditions;
  std::vector<std::string_view> words;
  for (std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  for (std::size_t i = 0; i < words.size(); i += 4) {
    bool complete = i + 3 <= words.size() && (words[i + 1] == "==" || words[i + 1] == "!=") &&
                    (i + 3 == words.size() || (words[i + 3] == "and" && i + 4 < words.size()));
    if (!complete) return bad_plan(where, "a condition is NAME == VALUE or NAME != VALUE");
    conditions.push_back({std::string(words[i]), std::string(words[i + 2]), words[i + 1] == "=="});
  }
  if (conditions.empty()) return bad_plan(where, "a condition is missing");
  TRY(check(conditions, where));
  return conditions;
}

// Above `begin`: decisions, their choices, and mistakes. True at `begin`.
Result<bool> KernelPlan::parse_declaration(std::string_view mark, const std::string& where) {
  const bool is_choice = mark.starts_with("   ");
  mark = trim(mark);
  if (is_choice) {
    auto choice = named(mark);
    if (!choice || decisions_.empty()) return bad_plan(where, "expected VALUE: reason");
    decisions_.back().choices.push_back({choice->first, choice->second});
  } else if (take_word(mark, "decide")) {
    auto decision = named(mark);
    if (!decision) return bad_plan(where, "expected decide NAME: question");
    decisions_.push_back({decision->first, decision->second, {}});
  } else if (take_word(mark, kMistake)) {
    auto mistake = named(mark);
    if (!mistake) return bad_plan(where, "expected mistake NAME: belief");
    mistakes_.push_back({mistake->first, mistake->second});
  } else if (mark == "begin") {
    return true;
  } else if (!mark.empty()) {
    return bad_plan(where, "expected decide, mistake or begin");
  }
  return false;
}

// Below `begin`: if, elif, else and end.
Result<void> KernelPlan::parse_branch(std::string_view mark, const std::string& where,
                                      std::vector<Branch>& open) const {
  mark = trim(mark);
  if (take_word(mark, "if")) {
    open.push_back({{}, TRY(parse_conditions(mark, where))});
    return {};
  }
  if (open.empty()) return bad_plan(where, "there is no open if");
  Branch& branch = open.back();
  if (take_word(mark, "elif")) {
    branch.earlier.push_back(std::move(branch.own));
    branch.own = TRY(parse_conditions(mark, where));
  } else if (mark == "else") {
    branch.earlier.push_back(std::move(branch.own));
    branch.own.clear();
  } else if (mark == "end") {
    open.pop_back();
  } else {
    return bad_plan(where, "expected if, elif, else or end");
  }
  return {};
}

Result<KernelPlan> KernelPlan::parse(std::string_view text, std::string name) {
  KernelPlan plan;
  bool begun = false;
  std::vector<Branch> open;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    const std::string where = fmt::format("{}:{}", name, ++number);
    std::string_view mark = trim(line);
    if (!mark.starts_with(kMark)) {
      if (begun) plan.lines_.push_back({std::string(line), open});
      continue;  // above `begin`: a comment
    }
    mark.remove_prefix(kMark.size());
    if (begun) {
      TRY(plan.parse_branch(mark, where, open));
    } else {
      begun = TRY(plan.parse_declaration(mark, where));
    }
  }
  if (!begun) return bad_plan(name, "there is no begin");
  if (!open.empty()) return bad_plan(name, "an if has no end");
  for (const Decision& decision : plan.decisions_) {
    if (decision.choices.empty()) return bad_plan(name, decision.name + " has no choices");
  }
  return plan;
}

std::string KernelPlan::write(const Decisions& made, std::string_view mistake) const {
  auto value_of = [&](std::string_view name) -> std::string {
    if (name == kMistake) return mistake.empty() ? "none" : std::string(mistake);
    auto decision = std::ranges::find(decisions_, name, &Decision::name);
    SG_ASSERT(decision != decisions_.end(), "parse() has checked the names");
    auto found = made.find(std::string(name));
    bool known = found != made.end() &&
                 std::ranges::find(decision->choices, found->second, &Choice::value) !=
                     decision->choices.end();
    return known ? found->second : decision->choices[0].value;
  };
  auto hold = [&](const std::vector<Condition>& conditions) {
    return std::ranges::all_of(conditions, [&](const Condition& condition) {
      return (value_of(condition.name) == condition.value) == condition.equal;
    });
  };
  std::string source(kSignature);
  for (std::size_t i = 0; i < decisions_.size(); ++i) {
    source += fmt::format("{}{} = {}", i > 0 ? ", " : "", decisions_[i].name,
                          value_of(decisions_[i].name));
  }
  source += '\n';
  for (const Line& line : lines_) {
    bool included = std::ranges::all_of(line.branches, [&](const Branch& branch) {
      return hold(branch.own) && std::ranges::none_of(branch.earlier, hold);
    });
    if (!included) continue;
    std::string text = line.text;
    for (const Decision& decision : decisions_) {
      const std::string place = "@" + decision.name + "@";
      for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
        text.replace(at, place.size(), value_of(decision.name));
      }
    }
    source += text + '\n';
  }
  while (source.ends_with("\n\n")) source.pop_back();
  return source;
}

Decisions decisions_in(std::string_view source) {
  Decisions made;
  std::string_view line = first_line(source);
  if (!line.starts_with(kSignature)) return made;
  line.remove_prefix(kSignature.size());
  for (std::string_view part : split(line, ',')) {
    std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    made.emplace(trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
  }
  return made;
}

namespace {

using Plans = std::map<std::string, KernelPlan, std::less<>>;  // by "cpu/softmax.kernel"

const Plans& all_plans() {
  static const Plans plans = [] {
    Plans all;
    for (const auto& [path, text] : embedded_kernel_plans()) {
      auto plan = KernelPlan::parse(text, std::string(path));
      SG_ASSERT(plan, "an embedded plan does not parse");
      all.emplace(path, std::move(*plan));
    }
    return all;
  }();
  return plans;
}

}  // namespace

const KernelPlan* find_plan(std::string_view task, std::string_view backend) {
  const Plans& plans = all_plans();
  std::string_view name = task.substr(0, task.find(':'));
  auto found = plans.find(std::string(backend) + "/" + std::string(name) + ".kernel");
  return found == plans.end() ? nullptr : &found->second;
}

std::vector<std::string> author_tasks(std::string_view backend) {
  std::set<std::string> tasks;
  for (const auto& [path, plan] : all_plans()) {
    std::size_t slash = path.find('/');
    if (!backend.empty() && path.substr(0, slash) != backend) continue;
    tasks.insert(path.substr(slash + 1, path.rfind('.') - slash - 1));
  }
  return {tasks.begin(), tasks.end()};
}

}  // namespace specgen
