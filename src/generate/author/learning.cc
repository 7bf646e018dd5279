#include "generate/author/learning.h"

#include <algorithm>
#include <cmath>

#include "generate/author/author_kernel.h"

namespace specgen {
namespace {

constexpr double kBoldStart = 0.6;   // share of decisions changed when nothing is known
constexpr double kSecondMove = 0.4;  // probability that two decisions change at a time
constexpr double kCuriosity = 0.3;   // expected worth of an untried choice
constexpr double kBoldness = 0.1;    // additional worth of the most aggressive one
constexpr double kNoise = 0.1;       // varies the order of equal prospects
constexpr std::size_t kMaxAdvice = 2;

struct Prospect {
  std::string name;
  std::string value;
  double worth = 0;
};

// Every change of one decision of `from`, highest expected worth first.
std::vector<Prospect> prospects(const KernelPlan& plan, const std::vector<Trial>& trials,
                                const Decisions& from, Random& random) {
  std::vector<Prospect> all;
  for (const Decision& decision : plan.decisions()) {
    for (std::size_t i = 0; i < decision.choices.size(); ++i) {
      const std::string& value = decision.choices[i].value;
      if (from.at(decision.name) == value) continue;
      double boldness = static_cast<double>(i) / static_cast<double>(decision.choices.size());
      double worth =
          worth_of(trials, decision.name, value).value_or(kCuriosity + kBoldness * boldness);
      all.push_back({decision.name, value, worth + random.normal(0, kNoise)});
    }
  }
  std::ranges::sort(all, std::greater(), &Prospect::worth);
  return all;
}

// Evaluated without a slip, so that another trial would give no new information.
bool is_known(const std::vector<Trial>& trials, const Decisions& goal) {
  return std::ranges::any_of(trials, [&](const Trial& trial) {
    return trial.made == goal && (trial.ok || trial.mistake.empty());
  });
}

// The machine or the harness is the cause, not the kernel.
bool is_inconclusive(std::string_view verdict) {
  return verdict == "unstable_timing" || verdict == "harness_error";
}

Decisions bold_start(const KernelPlan& plan, Decisions from, Random& random) {
  for (const Decision& decision : plan.decisions()) {
    if (decision.choices.size() < 2 || !random.chance(kBoldStart)) continue;
    from[decision.name] = decision.choices[1 + random.below(decision.choices.size() - 1)].value;
  }
  return from;
}

}  // namespace

Decisions completed(const KernelPlan& plan, Decisions made) {
  for (const Decision& decision : plan.decisions()) {
    made.emplace(decision.name, decision.choices[0].value);
  }
  return made;
}

std::vector<Trial> trials_of(const KernelPlan& plan, const PromptContext& context) {
  std::vector<Trial> trials;
  for (const PromptFeedback& feedback : context.feedback) {
    auto mistake = mistake_in(plan, feedback.source);
    if (!mistake || is_inconclusive(feedback.verdict)) continue;
    bool ok = feedback.verdict == "ok" && feedback.speedup > 0;
    trials.push_back({completed(plan, decisions_in(feedback.source)), ok, ok ? feedback.speedup : 0,
                      std::move(*mistake), feedback.verdict});
  }
  return trials;
}

const Trial* best_of(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (trial.ok && (!best || trial.speedup > best->speedup)) best = &trial;
  }
  return best;
}

std::optional<double> worth_of(const std::vector<Trial>& trials, std::string_view name,
                               std::string_view value) {
  double with = 0, without = 0;
  int count_with = 0, count_without = 0;
  for (const Trial& trial : trials) {
    if (!trial.ok) continue;
    bool has = trial.made.at(std::string(name)) == value;
    (has ? with : without) += std::log(trial.speedup);
    ++(has ? count_with : count_without);
  }
  if (count_with == 0 || count_without == 0) return std::nullopt;
  return with / count_with - without / count_without;
}

Decisions next_goal(const KernelPlan& plan, const PromptContext& context, Random& random) {
  std::vector<Trial> trials = trials_of(plan, context);
  const Trial* best = best_of(trials);
  Decisions start = completed(plan, starting_decisions(plan, context));
  auto advice = mentioned(plan, context.advice);
  if (advice.size() > kMaxAdvice) advice.resize(kMaxAdvice);
  if (!advice.empty()) {
    Decisions goal = best ? best->made : start;
    for (auto& [name, value] : advice) goal[name] = value;
    if (!is_known(trials, goal)) return goal;
  }
  if (!best) {
    // No kernel was ok yet: draw bold starts until one is untried.
    for (int attempt = 0; attempt < 8; ++attempt) {
      Decisions goal = bold_start(plan, start, random);
      if (!is_known(trials, goal)) return goal;
    }
    return start;
  }
  std::vector<Prospect> single = prospects(plan, trials, best->made, random);
  for (std::size_t i = 0; i < single.size(); ++i) {
    Decisions goal = best->made;
    goal[single[i].name] = single[i].value;
    if (i + 1 < single.size() && random.chance(kSecondMove)) {
      const Prospect& other = single[i + 1];
      if (other.name != single[i].name && other.worth > 0) goal[other.name] = other.value;
    }
    if (!is_known(trials, goal)) return goal;
  }
  // Every neighbour is known: change two decisions, or stay with the best.
  for (std::size_t attempt = 0; attempt < single.size(); ++attempt) {
    const Prospect& one = single[random.below(single.size())];
    const Prospect& other = single[random.below(single.size())];
    Decisions goal = best->made;
    goal[one.name] = one.value;
    goal[other.name] = other.value;
    if (!is_known(trials, goal)) return goal;
  }
  return best->made;
}

}  // namespace specgen
