#pragma once
// What a run did and when, as plain spans: the one thing that pictures are made from. A real run gives its
// journal's state, a simulated one fills it in as it goes.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "schedule/job.h"
#include "search/run_state.h"

namespace specgen {

// In the order in which a candidate meets them, which is the order of stacking.
enum class Phase : std::uint8_t { main, fork, compile, validate, profile, evaluate, tune };
inline constexpr std::size_t kPhases = 7;
std::string_view to_string(Phase phase);
Phase phase_of(Stage stage);
inline bool on_device(Phase phase) {
  return phase >= Phase::validate;
}

struct TimelineSpan {
  Phase phase = Phase::main;
  std::string device = {};  // "cpu:0"; only where it is on a device
  std::uint32_t task = 0;   // number in the run
  Duration start{};         // since the run began
  Duration end{};
  bool useful = true;      // false: it was withdrawn, or had to be done again
  std::string label = {};  // what it was: "c17"
};

struct Timeline {
  std::vector<TimelineSpan> spans = {};
  std::vector<std::string> devices =
      {};          // all, in the order of their rows; also those that never worked
  Duration end{};  // of the run so far
};

Timeline timeline_of(const RunState& run);

}  // namespace specgen
