#pragma once
// What a run did and when, as plain spans: the input of all pictures.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "schedule/job.h"
#include "search/run_state.h"

namespace specgen {

// In the order a candidate passes through them, which is also the order of stacking.
enum class Phase : std::uint8_t { main, fork, compile, validate, profile, evaluate, tune };
inline constexpr std::size_t kPhases = 7;
std::string_view to_string(Phase phase);
Phase phase_of(Stage stage);
inline bool on_device(Phase phase) {
  return phase >= Phase::validate;
}

struct TimelineSpan {
  Phase phase = Phase::main;
  std::string device = {};  // "cpu:0"; empty if it is not on a device
  std::uint32_t task = 0;   // number in the run
  Duration start{};         // since the run began
  Duration end{};
  bool useful = true;      // false: it was withdrawn, or had to be repeated
  std::string label = {};  // "c17"
};

struct Timeline {
  std::vector<TimelineSpan> spans = {};
  std::vector<std::string> devices = {};  // all, in the order of their rows; also unused ones
  Duration end{};                         // of the run so far
};

Timeline timeline_of(const RunState& run);

}  // namespace specgen
