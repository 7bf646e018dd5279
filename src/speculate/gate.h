#pragma once
// Decides whether a trigger becomes a fork, and whether a draft is evaluated now. Forks cost tokens and devices, and
// most of them repeat the last one; so the gate demands distance, new reasoning, device capacity and a yield that pays.
// It knows nothing about streams. Every refusal is counted by its reason. One gate serves one task and keeps
// what it has
// learned from iteration to iteration.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "schedule/scheduler.h"
#include "speculate/triggers.h"

namespace specgen {

struct GateSettings {
  std::int64_t first_after_tokens = 256;  // of reasoning, before the first fork
  std::int64_t gap_tokens = 512;          // of reasoning between two forks, or after a draft
  int max_in_flight = 2;                  // forks of one iteration
  int max_per_iteration = 8;
  std::size_t min_new_bytes = 256;    // of reasoning since the last fork or draft
  double min_weight = 0.2;            // of a trigger, times the yield so far
  double min_weight_when_busy = 0.5;  // the same while no device is idle
  double token_share = 0.5;  // forks may cost at most this share of what main generations cost
  std::int64_t free_tokens = 8192;              // that forks may cost regardless of the share
  Duration max_wait = std::chrono::minutes(2);  // for a device, as the pool expects it
  // Candidates waiting per device, above which drafts and forks are held back: a waiting candidate becomes stale and
  // delays a newer one.
  double max_waiting = 0.15;
  int forgiven_failures = 8;  // forks evaluated before a poor yield counts
  int probe_every = 20;       // one of this many triggers refused for a poor yield is allowed
};

enum class Refusal : std::uint8_t {
  too_early,
  too_close,
  too_many_in_flight,
  too_many_this_iteration,
  nothing_new,  // too little reasoning since the last fork or draft
  weak_trigger,
  poor_yield,
  budget,
  pool_is_full,
};
inline constexpr std::size_t kRefusals = 9;
using RefusalCounts = std::array<std::uint64_t, kRefusals>;
std::string_view to_string(Refusal refusal);
// Whether the reason is gone a little later, so that the same trigger may become a fork then.
bool is_temporary(Refusal refusal);

// The situation at a trigger.
struct GateView {
  std::int64_t tokens = 0;    // of reasoning so far
  std::size_t new_bytes = 0;  // of reasoning since the last fork or draft
  int forks_in_flight = 0;
  int forks_this_iteration = 0;
  std::int64_t tokens_left = -1;  // of the budget, beyond the main generation's; < 0: no limit
  std::int64_t fork_cost = 0;     // in tokens, estimated: uncached prompt and answer
  PoolLoad load = {};
};

class Gate {
 public:
  explicit Gate(GateSettings settings) : settings_(settings) {}

  std::optional<Refusal> ask(const Trigger& trigger, const GateView& view);  // nothing: fork
  // For a trigger whose first refusal was counted already.
  std::optional<Refusal> ask_again(const Trigger& trigger, const GateView& view);
  // Whether one more draft or fork may be submitted for evaluation now.
  bool has_capacity(const PoolLoad& load) const;
  void begin_iteration();
  void forked(std::int64_t at_tokens);
  void harvested(std::int64_t at_tokens);
  // The result of a fork: whether its candidate was ok, and whether it was better than the mean so far. A fork without
  // a kernel is not ok.
  void add_fork_result(bool ok, bool better);
  // Tokens of generations that have ended; the view has those of the current one.
  void add_tokens(std::int64_t main_tokens, std::int64_t fork_tokens);

  const RefusalCounts& refusals() const { return refusals_; }
  std::uint64_t allowed() const { return allowed_; }
  // Of the forks evaluated so far, recent ones weighing most; near 1 while there are few. A better fork counts 1, an ok
  // one a half.
  double yield() const;

 private:
  std::optional<Refusal> decide(const Trigger& trigger, const GateView& view);
  bool is_over_share(const GateView& view) const;

  GateSettings settings_;
  RefusalCounts refusals_{};
  std::uint64_t allowed_ = 0;
  std::int64_t last_at_tokens_ = 0;
  bool has_any_ = false;         // fork or draft in this iteration
  int evaluated_ = 0;            // forks
  double weight_evaluated_ = 0;  // the same, older ones weighing less
  double worth_ = 0;             // of these
  int refused_for_yield_ = 0;    // since the last probe
  std::int64_t main_tokens_ = 0;
  std::int64_t fork_tokens_ = 0;
};

}  // namespace specgen
