#pragma once
// What a run is doing, for a person who looks on. Three parts, none with a clock or a file of its own:
// ProgressTracker follows the run's entries, progress_lines() makes text of what it knows, ProgressDisplay puts
// that text on a terminal in place, or prints lines as things happen where there is none.
//
//   ProgressTracker tracker;
//   ProgressDisplay display(output, size);
//   listener.on_entry = [&](const Entry& entry) { display.tell(tracker.take(entry, elapsed())); };
//   ... every 100 ms: display.draw(tracker.view(pool.load(), elapsed()));

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/scheduler.h"
#include "search/run_state.h"

namespace specgen {

struct TaskProgress {
  std::string name;
  std::string phase = "waiting";  // "thinking", "judging", "waiting"
  Duration phase_began{};         // since the run began
  std::int64_t iterations = 0;    // begun
  std::int64_t early_stops = 0;
  std::int64_t tokens = 0;
  std::int64_t forks = 0;
  std::int64_t harvested = 0;
  std::int64_t judged = 0;
  std::int64_t feedback = 0;
  double best = 0;  // speedup; 0: none yet
};

struct ProgressView {
  std::vector<TaskProgress> tasks;
  RunBudgets budgets;
  std::size_t devices = 0;
  std::size_t busy_devices = 0;
  std::size_t queued = 0;  // jobs that wait for a device or for a lane
  Duration elapsed{};
  std::int64_t tokens = 0;
  double dollars = 0;
};

// Of a terminal; nothing where output goes to a file or a pipe.
struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
  bool colour = true;
};

// One line for each task, as many as fit, and one for the run; none wider than the terminal.
std::vector<std::string> progress_lines(const ProgressView& view, TerminalSize size);

struct ProgressEvent {
  std::string text;      // one line
  bool notable = false;  // worth a line that stays, even below a moving display
};

class ProgressTracker {
 public:
  // What there is to tell of it, if anything. `now`: since the run began.
  std::optional<ProgressEvent> take(const Entry& entry, Duration now);
  ProgressView view(const PoolLoad& load, Duration elapsed) const;

 private:
  struct Watched {
    TaskProgress progress;
    std::int64_t reasoning = 0;  // iterations under way
    std::int64_t unjudged = 0;
  };
  struct Found {
    std::uint32_t task = 0;
    std::string origin;
    bool shadow = false;
  };
  std::optional<ProgressEvent> take_judged(const Json& body, Duration now);
  std::optional<ProgressEvent> take_tuned(const Json& body);
  std::optional<ProgressEvent> take_iteration_ended(const Json& body, Duration now);
  void take_candidate(const Json& body, Duration now);
  void take_call_ended(const Json& body);
  Watched* watched(std::uint64_t iteration);
  static void settle_phase(Watched& task, Duration now);

  std::vector<Watched> tasks_;
  RunBudgets budgets_;
  std::int64_t tokens_ = 0;
  double dollars_ = 0;
  std::map<std::uint64_t, std::uint32_t> task_of_iteration_;
  std::map<std::uint64_t, std::uint64_t> iteration_of_call_;  // under way
  std::map<std::uint64_t, Found> found_;                      // and not judged
  std::map<std::uint64_t, std::uint32_t> confirmed_;          // whose they are
};

class ProgressDisplay {
 public:
  using Output = std::function<void(std::string_view)>;          // standard error
  using SizeNow = std::function<std::optional<TerminalSize>()>;  // asked at every drawing

  ProgressDisplay(Output output, SizeNow size);
  ~ProgressDisplay() { finish(); }
  ProgressDisplay(const ProgressDisplay&) = delete;

  void draw(const ProgressView& view);
  void tell(const std::optional<ProgressEvent>& event);
  // Takes the display away and gives the cursor back. Drawing again begins anew.
  void finish();

 private:
  std::string erased() const;

  Output output_;
  SizeNow size_;
  std::vector<std::string> shown_;
  std::size_t shown_columns_ = 0;
};

}  // namespace specgen
