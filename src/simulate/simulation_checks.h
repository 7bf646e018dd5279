#pragma once
// What must hold in every simulation, checked while it happens. A violation is written down with its moment, and the simulation
// goes on: one seed may show more than one.
//
// - No device holds two jobs (the hosts watch this from their side, too).
// - Every candidate ends exactly once.
// - Nothing that waits for a device starves beyond a bound.
// - Budgets hold.
// - The journal's entries, folded by somebody else, give the state that the run has: every so many events, at every
//   kill, and at the end; and what is on the disk is what was written.
// - Verdicts are true, but for those that a fault made flaky.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "journal/virtual_storage.h"
#include "runtime/loop.h"
#include "schedule/evaluation_pool.h"
#include "search/run_state.h"
#include "simulate/faults.h"
#include "simulate/scenario.h"

namespace specgen {

class SimulationChecks {
 public:
  // All outlive it.
  SimulationChecks(Loop& loop, const Scenario& scenario, const VirtualDisk& disk,
                   const Faults& faults);

  void violated(std::string what);
  const std::vector<std::string>& violations() const { return violations_; }

  // A controller's life. `state` is what it knows, while it lives.
  void begins(const RunState& state);
  void saw(const Entry& entry);
  void saw(const PoolEvent& event);
  void died();  // the disk is all that is left
  // The run has come to its end, with a state of this digest. Gives back what a fold from scratch comes to.
  RunState ended(std::string_view why, std::uint64_t digest);

 private:
  using Waiting = std::pair<CandidateId, Stage>;

  void compare();
  void check_disk();
  void check_queue();
  void check_budget();
  void check_verdicts(const RunState& state);
  RunState fold_from_scratch();

  Loop& loop_;
  const Scenario& scenario_;
  const VirtualDisk& disk_;
  const Faults& faults_;
  std::vector<std::string> violations_;

  const RunState* state_ = nullptr;
  RunState witness_;                    // folded from what was written, entry by entry
  std::vector<std::uint64_t> written_;  // a hash of every entry, by its number
  std::size_t on_disk_ = 0;             // entries that were compared with the disk's
  std::uint64_t next_comparison_ = 0;   // in loop events
  std::map<Waiting, Time> queued_;
  std::deque<std::pair<Time, Waiting>> queue_order_;  // may name what has started
  std::vector<CandidateId> holders_;                  // by device
  std::unordered_set<std::uint64_t> ended_;           // candidates, in this life
};

}  // namespace specgen
