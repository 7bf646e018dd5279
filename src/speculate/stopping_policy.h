#pragma once
// Every rule by which reasoning ends, in one place. A stream of reasoning ends early when
//   - a candidate meets the criterion (stopped),
//   - its candidates fail again and again (abandoned), or
//   - it has feedback, no candidate that meets the criterion, and has taken the usual tokens (abandoned).
// A stream that was abandoned without feedback may be restarted. A task ends when its target is reached.
//
// There is one policy per task: what it learns about failures is kept from iteration to iteration. The state of one
// iteration is an IterationProgress, which the iteration owns. Pure arithmetic; used from one thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "generate/reasoning_trace.h"
#include "schedule/job.h"

namespace specgen {

// When a candidate is fast enough to end the reasoning.
struct Criterion {
  enum class Kind : std::uint8_t {
    beats_mean,  // surely faster than the mean of the task's confirmed candidates, itself excluded
    beats_best,  // surely faster than the best so far
    target,      // at least `value` times as fast as the baseline
    peak_fraction,  // at least this share of what the hardware allows
    never,
  };
  Kind kind = Kind::beats_mean;
  double value = 0;
};
Result<Criterion> parse_criterion(std::string_view text);  // "beats-mean", "target=2.5"
std::string to_string(const Criterion& criterion);

// Confirmed candidates of the task so far; without any, mean and best are 1.
struct SpeedupsSoFar {
  double mean = 1;
  double best = 1;
};

enum class IterationEnd : std::uint8_t {
  answered,     // the stream ended with a kernel
  stopped,      // a candidate met the criterion
  no_kernel,    // the stream ended without a kernel
  failed,       // the model or its server failed
  interrupted,  // the run ended or was killed; does not count as an iteration
  superseded,   // a parallel iteration has won
  abandoned,    // its candidates failed again and again, or none met the criterion for long
  restarted,    // abandoned for its failures; together with the next stream it is one iteration
};
std::string_view to_string(IterationEnd end);
// Also reads the names that older journals have.
std::optional<IterationEnd> parse_iteration_end(std::string_view name);

struct StoppingSettings {
  bool early_stop = true;  // false: every stream runs to its end
  // A stream is abandoned when this many of its candidates in a row have failed and were not repaired: where drafts
  // and forks fail, the answer mostly fails too. 0: never.
  int abandon_after_failures = 2;
  // A stream with feedback, but without a candidate that meets the criterion, is abandoned after this many times the
  // tokens that such a candidate usually takes: a new stream is the better bet then. 0: never.
  double settle_after = 1;
  // Maximum restarts in a row within one iteration. An abandoned stream is restarted with its failures in the prompt
  // while the iteration has no feedback.
  int max_restarts = 2;
};

// Tokens of main generations in iterations that have ended, and how many of these a candidate stopped. The first
// candidate of a task is not counted: it had only the baseline to beat. The run's state keeps these totals, so that a
// resumed run has them too.
struct ReasoningTotals {
  std::int64_t tokens = 0;
  std::int64_t stopped = 0;
};

// The result of evaluating one candidate of an iteration.
struct CandidateResult {
  CandidateId id = {};
  Origin origin = Origin::main;
  std::size_t prefix_bytes = 0;  // of reasoning before the candidate
  bool has_feedback = false;     // profiled, ok and new
  bool meets_criterion = false;
  bool is_first =
      false;  // the task had no confirmed candidate before: meeting the criterion says little
  bool failed = false;    // by its own fault
  bool repeated = false;  // an equal candidate was evaluated before
  bool is_repair = false;
};

// What the rules need to know about one iteration.
struct IterationProgress {
  bool has_feedback = false;
  int failures = 0;             // candidates in a row that failed and were not repaired
  CandidateId winner = {};      // the first candidate that met the criterion
  std::size_t winner_at = 0;    // bytes of reasoning when its result came
  std::size_t decision_at = 0;  // offset of the latest decision in the reasoning
};

// Why reasoning ends.
struct Stop {
  IterationEnd end = IterationEnd::stopped;
  CandidateId by = {};    // the candidate that stopped it
  std::string note = {};  // for people
};

class StoppingPolicy {
 public:
  // The totals outlive the policy; they grow as iterations end.
  StoppingPolicy(StoppingSettings settings, Criterion criterion, const ReasoningTotals& of_task,
                 const ReasoningTotals& of_run);

  // `peak_fraction` of the candidate, 0 if unknown; `before`: without the candidate itself.
  bool meets_criterion(const Judged& judged, double peak_fraction,
                       const SpeedupsSoFar& before) const;
  // Whether a confirmed candidate is all that the user asked for; the task ends then.
  bool reaches_target(const Speedup& speedup, double peak_fraction) const;

  // Learns from every evaluated candidate of the task: it was ok, or failed by its own fault.
  void add_outcome(Origin origin, bool ok);

  // Takes a candidate's result into account; whether the stream ends now. `is_being_repaired`: a repair of this
  // failed candidate has just started.
  std::optional<Stop> after_result(IterationProgress& progress, const CandidateResult& result,
                                   bool is_being_repaired, std::size_t reasoning_bytes) const;
  // Whether the stream ends after more reasoning.
  std::optional<Stop> after_reasoning(const IterationProgress& progress,
                                      const ReasoningTrace& reasoning) const;
  // Whether the stream ends because it is larger than any sensible one.
  std::optional<Stop> after_bytes(std::size_t stream_bytes) const;
  // The end to record: an abandoned stream counts as restarted while a restart is left.
  IterationEnd after_iteration(IterationEnd end, bool has_feedback);

  // Tokens of reasoning that a candidate which meets the criterion usually takes in this task: the task's own
  // experience, and the run's as if that were one candidate more. 0: too little is known.
  std::int64_t usual_tokens() const;
  // Whether a failure says something about the reasoning. Where nearly all candidates of an origin fail, it does not.
  bool failure_counts(Origin origin) const;

 private:
  void count_failure(IterationProgress& progress, const CandidateResult& result,
                     bool is_being_repaired) const;
  bool fails_too_often(const IterationProgress& progress) const;
  bool has_taken_usual_tokens(const IterationProgress& progress,
                              const ReasoningTrace& reasoning) const;

  StoppingSettings settings_;
  Criterion criterion_;
  const ReasoningTotals& of_task_;
  const ReasoningTotals& of_run_;
  int restarts_ = 0;  // in a row
  struct Outcomes {   // older ones weigh less
    double evaluated = 0;
    double ok = 0;
  };
  std::array<Outcomes, 3> outcomes_{};  // by origin
};

}  // namespace specgen
