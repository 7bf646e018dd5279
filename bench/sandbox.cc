// The cost of a sandbox: start and end of a sandboxed /bin/true at each level that this host allows, including its
// control group. The launcher is `specgen-node` in the folder of this program.

#include <fmt/format.h>

#include "base/file.h"
#include "evaluate/sandbox/sandbox.h"
#include "figures.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"

namespace specgen {
namespace {

constexpr int kRuns = 100;
constexpr double kGoalMs = 50;

std::string in_ms(double ms) {
  return fmt::format("{:.1f} ms", ms);
}

Task<Result<double>> sandboxed_true(Processes& processes, const Sandbox& sandbox) {
  Stopwatch watch;
  {
    SandboxedCommand sandboxed = CO_TRY(sandbox.wrap({.argv = {"/bin/true"}}, {}));
    Finished finished = CO_TRY(co_await processes.run(sandboxed.command));
    if (!finished.exit.ok()) co_return fail(ErrorCode::harness_failed, finished.error_output);
  }
  co_return 1e3 * watch.seconds();
}

}  // namespace

void bench_sandbox() {
  heading("Sandbox: a sandboxed /bin/true");
  RealDriver driver(1);
  Loop loop(driver);
  Processes processes(loop, driver);
  std::string self = (program_folder() / "specgen-node").string();
  for (SandboxLevel level : {SandboxLevel::lsm, SandboxLevel::namespaces, SandboxLevel::full}) {
    Stopwatch opening;
    auto sandbox = loop.run(Sandbox::open(loop, processes, {.at_most = level, .self = {self}}));
    double open_ms = 1e3 * opening.seconds();
    if (!sandbox || sandbox->level() != level) {
      note(fmt::format("{}: not on this host", to_string(level)),
           sandbox ? sandbox->problems() : sandbox.error().context);
      continue;
    }
    std::vector<double> times;
    for (int i = 0; i < kRuns; ++i) {
      auto took = loop.run(sandboxed_true(processes, *sandbox));
      if (!took) {
        note(fmt::format("{}: did not run", to_string(level)), took.error().context);
        break;
      }
      times.push_back(*took);
    }
    double median = quantile(times, 0.5), p95 = quantile(times, 0.95);
    note(fmt::format("{}: open (self-test unless cached)", to_string(level)), in_ms(open_ms));
    note(fmt::format("{}: median of {}", to_string(level), times.size()), in_ms(median));
    at_most(fmt::format("{}: p95", to_string(level)), p95, kGoalMs, in_ms(p95), in_ms(kGoalMs));
  }
}

}  // namespace specgen
