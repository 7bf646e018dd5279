#include "speculate/stopping_policy.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>
#include <vector>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxStreamBytes = std::size_t{16} << 20;  // reasoning and answer
constexpr std::size_t kPatienceBytes = 6144;                    // of reasoning, about 2000 tokens
constexpr std::size_t kCutBeforeTrigger = 256;  // bytes, at most, from a trigger back to the cut
constexpr std::int64_t kMinStopped = 3;         // iterations, before their mean says anything
constexpr double kFading = 1.0 / 32;            // of old outcomes, with every new one
constexpr double kAssumedOk = 2;                // candidates, before any is evaluated
constexpr double kMinOkShare = 0.2;             // of an origin, for its failures to count

using Kind = Criterion::Kind;

// Patience is over when the reasoning runs on although a candidate has met the criterion.
bool is_patience_over(const IterationProgress& progress, std::size_t reasoning_bytes) {
  return progress.winner.value != 0 && reasoning_bytes > progress.winner_at + kPatienceBytes;
}

// The first kernel of a task has only the baseline to beat, and the whole search builds on it. A decision in the
// reasoning behind it is worth one more result before the stream is stopped.
bool has_later_decision(const IterationProgress& progress, const CandidateResult& result) {
  return result.is_first && result.prefix_bytes + kCutBeforeTrigger < progress.decision_at;
}

}  // namespace

StoppingPolicy::StoppingPolicy(StoppingSettings settings, Criterion criterion,
                               const ReasoningTotals& of_task, const ReasoningTotals& of_run)
    : settings_(settings), criterion_(criterion), of_task_(of_task), of_run_(of_run) {}

// Only feedback counts: a repeated kernel teaches nothing that was worth an iteration. "Surely faster" is decided by
// the low end of the interval, or noise would end the reasoning.
bool StoppingPolicy::meets_criterion(const Judged& judged, double peak_fraction,
                                     const SpeedupsSoFar& before) const {
  if (!is_feedback(judged)) return false;
  switch (criterion_.kind) {
    case Kind::beats_mean:
      return judged.speedup.low > before.mean;
    case Kind::beats_best:
      return judged.speedup.low > before.best;
    case Kind::target:
      return judged.speedup.median >= criterion_.value;
    case Kind::peak_fraction:
      return peak_fraction >= criterion_.value;
    case Kind::never:
      return false;
  }
  SG_ASSERT(false, "an unknown criterion");
}

bool StoppingPolicy::reaches_target(const Speedup& speedup, double peak_fraction) const {
  if (criterion_.kind != Kind::target && criterion_.kind != Kind::peak_fraction) return false;
  return meets_criterion({.verdict = Verdict::ok, .speedup = speedup, .profiled = true},
                         peak_fraction, {});
}

void StoppingPolicy::add_outcome(Origin origin, bool ok) {
  Outcomes& known = outcomes_[static_cast<std::size_t>(origin)];
  known.evaluated = known.evaluated * (1 - kFading) + 1;
  known.ok = known.ok * (1 - kFading) + (ok ? 1 : 0);
}

bool StoppingPolicy::failure_counts(Origin origin) const {
  const Outcomes& known = outcomes_[static_cast<std::size_t>(origin)];
  return known.ok + kAssumedOk >= kMinOkShare * (known.evaluated + kAssumedOk);
}

std::optional<Stop> StoppingPolicy::after_result(IterationProgress& progress,
                                                 const CandidateResult& result,
                                                 bool is_being_repaired,
                                                 std::size_t reasoning_bytes) const {
  progress.has_feedback |= result.has_feedback;
  count_failure(progress, result, is_being_repaired);
  if (!settings_.early_stop) return std::nullopt;
  if (result.meets_criterion && !progress.winner.value) {
    progress.winner = result.id;
    progress.winner_at = reasoning_bytes;
  }
  if (progress.winner.value && !has_later_decision(progress, result)) {
    return Stop{.by = result.meets_criterion ? result.id : progress.winner};
  }
  if (fails_too_often(progress)) {
    return Stop{.end = IterationEnd::abandoned,
                .note = fmt::format("{} candidates in a row failed", progress.failures)};
  }
  return std::nullopt;
}

// A failure that is being repaired is not counted yet. A repair that only repeats a known kernel has repaired nothing,
// unless the iteration has feedback: then it may be this iteration's own kernel that it repeats.
void StoppingPolicy::count_failure(IterationProgress& progress, const CandidateResult& result,
                                   bool is_being_repaired) const {
  if (!result.failed && !result.repeated) {
    progress.failures = 0;
    return;
  }
  bool is_failure = result.failed ? !is_being_repaired : result.is_repair && !progress.has_feedback;
  if (is_failure && failure_counts(result.origin)) ++progress.failures;
}

bool StoppingPolicy::fails_too_often(const IterationProgress& progress) const {
  return settings_.abandon_after_failures > 0 &&
         progress.failures >= settings_.abandon_after_failures;
}

std::optional<Stop> StoppingPolicy::after_reasoning(const IterationProgress& progress,
                                                    const ReasoningTrace& reasoning) const {
  if (is_patience_over(progress, reasoning.text().size())) return Stop{.by = progress.winner};
  if (has_taken_usual_tokens(progress, reasoning)) {
    return Stop{.end = IterationEnd::abandoned,
                .note = "no candidate met the criterion within the tokens that one usually takes"};
  }
  return std::nullopt;
}

// With feedback in hand a new stream, which knows the feedback, has better odds than more of this one.
bool StoppingPolicy::has_taken_usual_tokens(const IterationProgress& progress,
                                            const ReasoningTrace& reasoning) const {
  if (!settings_.early_stop || !progress.has_feedback || progress.winner.value) return false;
  const double limit = settings_.settle_after * static_cast<double>(usual_tokens());
  return limit > 0 && static_cast<double>(reasoning.tokens()) > limit;
}

std::int64_t StoppingPolicy::usual_tokens() const {
  if (of_run_.stopped < kMinStopped) return 0;
  return (of_task_.tokens + of_run_.tokens / of_run_.stopped) / (of_task_.stopped + 1);
}

std::optional<Stop> StoppingPolicy::after_bytes(std::size_t stream_bytes) const {
  if (stream_bytes <= kMaxStreamBytes) return std::nullopt;
  return Stop{.end = IterationEnd::failed,
              .note = fmt::format("the model's stream exceeded {} MiB", kMaxStreamBytes >> 20)};
}

IterationEnd StoppingPolicy::after_iteration(IterationEnd end, bool has_feedback) {
  if (end == IterationEnd::abandoned && !has_feedback && restarts_ < settings_.max_restarts) {
    ++restarts_;
    return IterationEnd::restarted;
  }
  if (end != IterationEnd::interrupted) restarts_ = 0;
  return end;
}

// Names

namespace {

struct NamedCriterion {
  Kind kind;
  std::string_view name;
  bool has_value;
};
constexpr std::array kCriteria{NamedCriterion{Kind::beats_mean, "beats-mean", false},
                               NamedCriterion{Kind::beats_best, "beats-best", false},
                               NamedCriterion{Kind::target, "target", true},
                               NamedCriterion{Kind::peak_fraction, "peak-fraction", true},
                               NamedCriterion{Kind::never, "never", false}};

struct NamedEnd {
  IterationEnd end;
  std::string_view name;
  std::string_view old_name = {};
};
constexpr std::array kEnds{NamedEnd{IterationEnd::answered, "answered"},
                           NamedEnd{IterationEnd::stopped, "stopped"},
                           NamedEnd{IterationEnd::no_kernel, "no_kernel"},
                           NamedEnd{IterationEnd::failed, "failed"},
                           NamedEnd{IterationEnd::interrupted, "interrupted"},
                           NamedEnd{IterationEnd::superseded, "superseded", "overtaken"},
                           NamedEnd{IterationEnd::abandoned, "abandoned", "given_up"},
                           NamedEnd{IterationEnd::restarted, "restarted", "begun_again"}};

}  // namespace

Result<Criterion> parse_criterion(std::string_view text) {
  std::size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  for (const NamedCriterion& known : kCriteria) {
    if (known.name != name) continue;
    if (known.has_value != (equals != std::string_view::npos)) {
      return fail(
          ErrorCode::bad_usage,
          fmt::format("--criterion {}: {}", text,
                      known.has_value ? "a number is missing, as in " + std::string(name) + "=2"
                                      : std::string(name) + " takes no number"));
    }
    Criterion criterion{.kind = known.kind};
    if (!known.has_value) return criterion;
    std::string_view digits = text.substr(equals + 1);
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), criterion.value);
    bool is_share = known.kind == Kind::peak_fraction;
    if (error != std::errc() || end != digits.data() + digits.size() || !(criterion.value > 0) ||
        criterion.value > (is_share ? 1 : 1e6)) {
      return fail(ErrorCode::bad_usage,
                  fmt::format("--criterion {}: '{}' is not a number {}", text, digits,
                              is_share ? "between 0 and 1" : "above 0"));
    }
    return criterion;
  }
  std::vector<std::string> names;
  for (const NamedCriterion& known : kCriteria) names.emplace_back(known.name);
  return fail(ErrorCode::bad_usage,
              fmt::format("--criterion {}: unknown criterion{}", text, did_you_mean(name, names)));
}

std::string to_string(const Criterion& criterion) {
  for (const NamedCriterion& known : kCriteria) {
    if (known.kind != criterion.kind) continue;
    return known.has_value ? fmt::format("{}={}", known.name, criterion.value)
                           : std::string(known.name);
  }
  SG_ASSERT(false, "every criterion has a name");
}

std::string_view to_string(IterationEnd end) {
  return kEnds[static_cast<std::size_t>(end)].name;
}

std::optional<IterationEnd> parse_iteration_end(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const NamedEnd& known : kEnds) {
    if (name == known.name || name == known.old_name) return known.end;
  }
  return std::nullopt;
}

}  // namespace specgen
