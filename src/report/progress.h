#pragma once
// What a run is doing, for a person who watches it: ProgressTracker compares the run's state with what it saw before,
// progress_lines() formats what it knows, and ProgressDisplay (progress_display.h) shows it. None has a clock or a file
// of its own.
//
//   ProgressTracker tracker;
//   ProgressDisplay display(output, size);
//   listener.on_change = [&](const RunState& state, Duration now) { display.show(tracker.update(state, now)); };
//   ... every 100 ms: display.draw(tracker.view(run.state(), pool.load(), run.elapsed()));
//
// All numbers come from the run's state by the functions that the report uses, so the display and the report agree.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "report/summary.h"
#include "schedule/scheduler.h"
#include "search/run_state.h"

namespace specgen {

struct TaskProgress {
  std::string name;
  std::string phase = "waiting";  // "reasoning", "evaluating", "waiting"
  Duration phase_began{};         // since the run began
  TaskNumbers numbers = {};       // as in the report
  std::int64_t judged = 0;        // candidates with a verdict
  std::int64_t tokens = 0;        // of calls that ended
  double best = 0;                // speedup; 0: none yet
};

struct ProgressView {
  std::vector<TaskProgress> tasks;
  RunBudgets budgets;
  std::size_t devices = 0;
  std::size_t busy_devices = 0;
  std::size_t queued = 0;  // jobs that wait for a device or a compile slot
  Duration elapsed{};
  std::int64_t tokens = 0;
  double dollars = 0;
};

// Of a terminal; none where output goes to a file or a pipe.
struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
  bool colour = true;
};

// One line per task, as many as fit, and one for the run; none wider than the terminal.
std::vector<std::string> progress_lines(const ProgressView& view, TerminalSize size);

struct ProgressEvent {
  std::string text;      // one line
  bool notable = false;  // is printed above a display that is redrawn in place
};
using ProgressEvents = std::vector<ProgressEvent>;

class ProgressTracker {
 public:
  // What changed since the last call. The first call takes a run that has already begun as it is and reports it in one
  // event, so a resumed or watched run does not repeat its past. `now`: since the run began.
  ProgressEvents update(const RunState& state, Duration now);
  // `load` is empty for a run of another process.
  ProgressView view(const RunState& state, const PoolLoad& load, Duration elapsed) const;

 private:
  struct TaskSeen {
    std::string phase = "waiting";
    Duration phase_began{};
    std::size_t iterations = 0;  // how many of the task's have been seen
    std::size_t candidates = 0;
    std::int64_t judged = 0;
    std::int64_t tokens = 0;
    double best = 0;
  };
  void add_new_iterations(const RunState& state, ProgressEvents& events);
  void add_calls(const RunState& state);
  void add_candidates(const RunState& state, ProgressEvents& events);
  void add_ended_iterations(const RunState& state, ProgressEvents& events);
  void settle_phases(const RunState& state, Duration now);
  ProgressEvent judged_event(const RunState& state, const CandidateState& candidate);
  ProgressEvent tuned_event(const RunState& state, const CandidateState& candidate);
  bool is_new_best(const RunState& state, const CandidateState& candidate);

  bool has_begun_ = false;
  std::vector<TaskSeen> tasks_;
  std::set<IterationId> open_iterations_;  // seen, and had not ended
  std::set<CandidateId> unjudged_;
  std::set<CandidateId> untuned_;  // may still be tuned
  std::set<std::uint64_t> open_calls_;
  std::uint64_t last_call_ = 0;
  std::uint32_t resumptions_ = 0;
  std::string ended_;
};

}  // namespace specgen
