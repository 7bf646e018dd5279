#include <fmt/core.h>
#include <cstdlib>
#include <ctime>
#include "simulate/world.h"
int main(int argc, char** argv) {
  using namespace specgen;
  auto scenario = load_scenario(argv[1]);
  if (!scenario) { fmt::print("{}\n", scenario.error().text()); return 2; }
  std::uint64_t from = std::strtoull(argv[2], nullptr, 10), n = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  auto set = find_trigger_set({"triggers"}, scenario->run.triggers);
  if (!set) { fmt::print("{}\n", set.error().text()); return 2; }
  auto triggers = Triggers::compile(std::move(*set));
  if (!triggers) { fmt::print("{}\n", triggers.error().text()); return 2; }
  auto book = PromptBook::load({"prompts"});
  if (!book) { fmt::print("{}\n", book.error().text()); return 2; }
  int bad = 0;
  for (std::uint64_t seed = from; seed < from + n; ++seed) {
    std::clock_t c = std::clock();
    auto report = live(*scenario, seed, {.prompts = *book, .triggers = triggers->get(), .on_progress = [](Duration d, const RunState& st) { if (d > std::chrono::hours(5) && d < std::chrono::hours(5) + std::chrono::minutes(11)) { fmt::print("open its"); for (auto id : st.open_iterations()) { auto& it = st.iterations.at(id); fmt::print(" {} task {} forks {} harv {} fb {};", id.value, it.begun.task, it.forks, it.harvested, it.feedback); for (auto& [cid, cc] : st.candidates) if (cc.found.iteration == id) fmt::print(" c{} {} {}", cid.value, to_string(cc.found.origin), cc.judged ? std::string(to_string(cc.judged->verdict)) + (cc.judged->withdrawn ? "(withdrawn)" : "") : "open"); for (auto& [cid, cc] : st.calls) if (cc.sent.iteration == id) fmt::print(" call{} {} {}", cid, cc.sent.purpose, cc.done ? to_string(cc.done->outcome) : "open"); } fmt::print(" open cands {}\n", st.open_candidates().size()); } }});
    if (!report) { fmt::print("{}\n", report.error().text()); return 2; }
    double cpu = double(std::clock() - c) / CLOCKS_PER_SEC;
    std::size_t fb = 0, st = 0, fo = 0, ha = 0; for (auto& [id, it] : report->state.iterations) { st += it.ended && it.ended->end == IterationEnd::stopped; fo += it.forks; ha += it.harvested; } for (auto& [id, it] : report->state.iterations) fb += it.feedback > 0;
    fmt::print("seed {} {} lives {} {} events {} cpu {:.3f}s sim/cpu {:.0f} iterations {} cands {} fb {} stops {} forks {} harvest {} tok {}/{} hash {:x} useful {} of {}\n", seed, report->ended, report->lives, format_duration(report->simulated), report->events, cpu, seconds(report->simulated)/cpu,
      report->state.iterations.size(), report->state.candidates.size(), fb, st, fo, ha, report->state.tokens.main, report->state.tokens.forks, report->trace_hash, format_duration(report->pool.useful), format_duration(report->device_time));
    for (std::size_t i = 0; i < kFaults; ++i) if (report->faults[i]) fmt::print(" {}={}", to_string(static_cast<Fault>(i)), report->faults[i]);
    fmt::print("\n");
    for (auto& v : report->violations) fmt::print("  {}\n", v);
    bad += !report->violations.empty();
  }
  return bad ? 1 : 0;
}
