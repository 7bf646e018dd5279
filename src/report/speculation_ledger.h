#pragma once
// What speculation gained and what it cost, from the state of a run. A pure function, used by the report, --json and
// comparisons.
//
// Savings are the tokens and the time that stopped generations would still have taken: an estimate that the run
// recorded for each, or a measurement where a shadow continued to its end. Overhead is what is spent only because of
// speculation: the tokens of forks, and the device time of candidates from forks and from the harvest.

#include <array>
#include <cstdint>

#include "search/run_state.h"

namespace specgen {

// Candidates of one origin; those of shadows are not counted.
struct OriginCount {
  std::int64_t found = 0;
  std::int64_t ok = 0;
  std::int64_t profiled = 0;
  std::int64_t withdrawn = 0;
  std::int64_t repeated = 0;
  double best = 0;  // median speedup of its fastest; 0: none
  Duration device_time{};
};

struct SpeculationLedger {
  std::int64_t iterations = 0;  // that ended; the user's own kernel is not one
  std::int64_t stopped_by_harvest = 0;
  std::int64_t stopped_by_fork = 0;
  std::int64_t answered = 0;
  std::int64_t no_kernel = 0;
  std::int64_t failed = 0;
  std::int64_t abandoned = 0;    // or restarted
  std::int64_t interrupted = 0;  // or superseded

  TokenTotals tokens;
  double main_tokens_per_second = 0;  // of the main generations; 0: unknown
  Duration time_saved{};              // estimated: tokens saved at that rate

  std::int64_t shadows = 0;  // that ended
  std::int64_t shadow_tokens = 0;
  Duration shadow_time{};
  std::int64_t shadow_estimate = 0;  // tokens estimated for the same generations
  std::int64_t forgone_better = 0;   // shadows with a better kernel than the one that stopped them

  std::array<OriginCount, 3> origins{};  // by Origin
  RefusalCounts refusals{};              // triggers that did not become forks, by reason
  std::int64_t feedback_iterations = 0;  // with at least one profiled candidate
  std::int64_t profiled = 0;

  std::int64_t devices = 0;  // of the run
  Duration wall{};
  Duration device_time{};  // of stages on devices, for candidates neither withdrawn nor repeated

  std::int64_t early_stops() const { return stopped_by_harvest + stopped_by_fork; }
  double early_share() const;
  double feedback_per_100() const;  // iterations with feedback per 100
  double utilisation() const;       // share of the devices' time
  // Measured by shadows where there are any, otherwise estimated.
  std::int64_t tokens_saved() const;
  Duration saved() const;
  std::int64_t net_tokens() const { return tokens_saved() - tokens.forks; }
  Duration speculative_device_time() const;
};

SpeculationLedger speculation_ledger(const RunState& state);

}  // namespace specgen
