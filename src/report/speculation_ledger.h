#pragma once
// What speculation brought and what it cost, from the state of a run. A pure function, the same for the report, for
// --json and for comparisons.
//
// Saved is what a stopped generation would have written and taken: estimated for each (the run wrote it down), and
// measured where a shadow ran on to its end. Overhead is what is spent only because there is speculation: the tokens
// of forks, and device time of candidates that came from forks and from the harvest.

#include <array>
#include <cstdint>

#include "search/run_state.h"

namespace specgen {

// Of the candidates of one origin; shadows' are not counted.
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
  std::int64_t iterations = 0;  // that ended
  std::int64_t stopped_by_harvest = 0;
  std::int64_t stopped_by_fork = 0;
  std::int64_t answered = 0;
  std::int64_t no_kernel = 0;
  std::int64_t failed = 0;
  std::int64_t given_up = 0;  // what they led to had failed, or was not good enough for long
  std::int64_t interrupted = 0;

  TokenTotals tokens;
  double main_tokens_per_second = 0;  // as the main generations wrote them; 0: not known
  Duration time_saved{};              // estimated: tokens saved at that pace

  std::int64_t shadows = 0;  // that came to their end
  std::int64_t shadow_tokens = 0;
  Duration shadow_time{};
  std::int64_t shadow_estimate = 0;  // tokens that were estimated for the same generations
  std::int64_t forgone_better = 0;   // shadows whose own kernel beat the one that stopped them

  std::array<OriginCount, 3> origins{};  // by Origin
  RefusalCounts refusals{};              // triggers that did not become forks, and why
  std::int64_t feedback_iterations = 0;  // that had at least one profiled candidate
  std::int64_t profiled = 0;

  std::int64_t devices = 0;  // that were used
  Duration wall{};
  Duration device_time{};  // of stages on devices that counted: neither withdrawn nor repeated

  std::int64_t early_stops() const { return stopped_by_harvest + stopped_by_fork; }
  double early_share() const;
  double feedback_per_100() const;  // iterations with feedback, of a hundred
  double utilisation() const;       // share of the devices' time
  // By what shadows measured where there are any, else by the estimate.
  std::int64_t tokens_saved() const;
  Duration saved() const;
  std::int64_t net_tokens() const { return tokens_saved() - tokens.forks; }
  Duration speculative_device_time() const;
};

SpeculationLedger speculation_ledger(const RunState& state);

}  // namespace specgen
