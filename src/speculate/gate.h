#pragma once
// Decides whether a trigger becomes a fork. Forks cost tokens and devices, and most of them repeat what the last one
// said; so the gate asks for distance, novelty, room and a yield that pays. It knows nothing of streams. Every
// refusal is counted by its reason. One gate serves one task: what it has learned goes on from iteration to iteration.

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
  std::int64_t gap_tokens = 512;          // of reasoning between two forks, or after a harvest
  int max_in_flight = 2;                  // forks of one iteration
  int max_per_iteration = 8;
  std::size_t min_new_bytes = 256;    // of reasoning since the last fork or harvest
  double min_weight = 0.2;            // of a trigger, times the yield seen so far
  double min_weight_when_busy = 0.5;  // the same while no device is idle
  double token_share = 0.5;  // forks may cost at most this share of what main generations cost
  std::int64_t free_tokens = 8192;  // that forks may cost before that share is looked at
  Duration max_wait =
      std::chrono::minutes(2);  // that the pool may expect; beyond it there is no room
  // Candidates that may wait for a device, for each device that there is, before drafts and forks are held back: what
  // waits grows stale, and keeps a fresher one from being judged.
  double max_waiting = 0.15;
  // Kernels of one iteration that are mended at once when they have failed: the model is told what was found, and
  // changes them without reasoning. 0: none.
  int max_mended = 2;
  // Thinking is given up when so many of its kernels in a row have failed and were not mended: where drafts and forks
  // fail, the answer mostly does. 0: never.
  int give_up_after = 2;
  // Thinking that has brought feedback, and nothing good enough, is given up when it has taken so many times the tokens
  // that a good kernel has taken so far: to think anew is the better bet then. 0: never.
  double settle_after = 1;
  // How often in a row a thought that was given up is thought anew, with the failures told, where there was no feedback
  // yet: in the same iteration, which so has more chances to bring some.
  int begin_again = 2;
  int forgiven_failures = 8;  // forks judged before a poor yield counts
  int probe_every = 20;       // of the triggers refused for a poor yield, one goes all the same
};

enum class Refusal : std::uint8_t {
  too_early,
  too_close,
  too_many_in_flight,
  too_many_this_iteration,
  nothing_new,  // no reasoning of substance since the last fork or harvest
  weak_trigger,
  poor_yield,
  budget,
  pool_is_full,
};
inline constexpr std::size_t kRefusals = 9;
using RefusalCounts = std::array<std::uint64_t, kRefusals>;
std::string_view to_string(Refusal refusal);

// What the gate is told at a trigger.
struct GateView {
  std::int64_t tokens = 0;  // of reasoning so far
  std::size_t new_bytes =
      0;  // of reasoning since the last fork or harvest that are not in the prompt's kernels
  int forks_in_flight = 0;
  int forks_this_iteration = 0;
  std::int64_t tokens_left =
      -1;  // of the budget, beyond what the main generation may take; < 0: no limit
  std::int64_t fork_cost = 0;  // in tokens, estimated: uncached prompt and answer
  PoolLoad load = {};
};

class Gate {
 public:
  explicit Gate(GateSettings settings) : settings_(settings) {}

  const GateSettings& settings() const { return settings_; }

  std::optional<Refusal> ask(const Trigger& trigger, const GateView& view);  // nothing: go
  // For a trigger that was refused before, and counted then.
  std::optional<Refusal> ask_again(const Trigger& trigger, const GateView& view);
  // Whether one more candidate of speculation may be handed in now. A draft that may not waits, and perhaps a later one
  // overtakes it.
  bool has_room(const PoolLoad& load) const;
  // Of every kernel that was judged: whether it was ok, or failed by its own fault.
  void came_out(Origin origin, bool ok);
  // Whether a failure says something about the reasoning it comes from. Where nearly all of an origin's kernels fail,
  // it does not.
  bool failure_tells(Origin origin) const;
  // Whether to end a stream of reasoning after so many failures that tell.
  bool is_hopeless(int failures) const {
    return settings_.give_up_after > 0 && failures >= settings_.give_up_after;
  }
  void begin_iteration();
  void forked(std::int64_t at_tokens);
  void harvested(std::int64_t at_tokens);
  // What came of a fork: whether its candidate was ok, and whether it was better than the mean so far. One that
  // wrote no kernel is not ok.
  void judged(bool ok, bool good);
  // When a generation has ended; of one that still thinks, the view tells.
  void spent(std::int64_t main_tokens, std::int64_t fork_tokens);

  const RefusalCounts& refusals() const { return refusals_; }
  std::uint64_t allowed() const { return allowed_; }
  // Of forks judged so far, the latest most, towards 1 while there are few: a good one counts 1, an ok one a half.
  double yield() const;

 private:
  std::optional<Refusal> decide(const Trigger& trigger, const GateView& view);
  bool is_over_share(const GateView& view) const;

  GateSettings settings_;
  RefusalCounts refusals_{};
  std::uint64_t allowed_ = 0;
  std::int64_t last_at_tokens_ = 0;
  bool has_any_ = false;  // fork or harvest in this iteration
  int judged_ = 0;
  double weight_judged_ = 0;  // the same and what it was worth, with what is long ago faded
  double worth_ = 0;
  struct Outcomes {  // with what is long ago faded
    double judged = 0;
    double ok = 0;
  };
  std::array<Outcomes, 3> outcomes_{};  // by origin
  int refused_for_yield_ = 0;           // since the last probe
  std::int64_t main_tokens_ = 0;
  std::int64_t fork_tokens_ = 0;
};

}  // namespace specgen
