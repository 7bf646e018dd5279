#pragma once
// The invariants of every simulation, checked while it runs. A violation is recorded with its time, and the
// simulation continues: one seed may show several.
//
// - No device has two jobs (the hosts check this too).
// - Every candidate ends exactly once.
// - No job waits for a device longer than a limit.
// - Budgets hold.
// - The entries of the journal, folded independently, give the state of the run: periodically, at every kill, and at
// the end; and the disk has what was written.
// - Verdicts are true, except for those that a fault made flaky.

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
  // All must outlive it.
  SimulationChecks(Loop& loop, const Scenario& scenario, const VirtualDisk& disk,
                   const Faults& faults);

  void violated(std::string what);
  const std::vector<std::string>& violations() const { return violations_; }

  // One controller. `state` is valid until it is killed or the run has ended.
  void controller_started(const RunState& state);
  void on(const Entry& entry);
  void on(const PoolEvent& event);
  void controller_killed();  // only the disk is left
  // The run has ended, with a state of this digest. Returns the state folded from the whole journal.
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
  RunState witness_;                    // folded entry by entry from what was written
  std::vector<std::uint64_t> written_;  // a hash of every entry, by number
  std::size_t on_disk_ = 0;             // entries compared with the disk
  std::uint64_t next_comparison_ = 0;   // in loop events
  std::map<Waiting, Time> queued_;
  std::deque<std::pair<Time, Waiting>> queue_order_;  // may contain started jobs
  std::vector<CandidateId> holders_;                  // by device
  std::unordered_set<std::uint64_t> ended_;           // candidates of this controller
};

}  // namespace specgen
