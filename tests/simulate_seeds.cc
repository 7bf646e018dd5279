#include <fmt/core.h>
#include <cstdlib>
#include <ctime>
#include "simulate/world.h"
int main(int argc, char** argv) {
  using namespace specgen;
  auto scenario = load_scenario(argv[1]);
  if (!scenario) { fmt::print("{}\n", scenario.error().text()); return 2; }
  std::uint64_t from = std::strtoull(argv[2], nullptr, 10), n = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  int bad = 0;
  for (std::uint64_t seed = from; seed < from + n; ++seed) {
    std::clock_t c = std::clock();
    auto report = live(*scenario, seed, {});
    if (!report) { fmt::print("{}\n", report.error().text()); return 2; }
    double cpu = double(std::clock() - c) / CLOCKS_PER_SEC;
    std::size_t fb = 0; for (auto& [id, it] : report->state.iterations) fb += it.feedback > 0;
    fmt::print("seed {} {} lives {} {} events {} cpu {:.3f}s sim/cpu {:.0f} iterations {} cands {} fb {} hash {:x} useful {} of {}\n", seed, report->ended, report->lives, format_duration(report->simulated), report->events, cpu, seconds(report->simulated)/cpu,
      report->state.iterations.size(), report->state.candidates.size(), fb, report->trace_hash, format_duration(report->pool.useful), format_duration(report->device_time));
    for (std::size_t i = 0; i < kFaults; ++i) if (report->faults[i]) fmt::print(" {}={}", to_string(static_cast<Fault>(i)), report->faults[i]);
    fmt::print("\n");
    for (auto& v : report->violations) fmt::print("  {}\n", v);
    bad += !report->violations.empty();
  }
  return bad ? 1 : 0;
}
