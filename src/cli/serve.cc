#include "cli/serve.h"

#include <unistd.h>

#include <algorithm>

#include "cli/look.h"
#include "cli/version.h"
#include "cli/workbench.h"
#include "evaluate/node/device_list.h"
#include "evaluate/node/node.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr int kFewCores = 2;

std::string working_compiler(const HostReport& host) {
  auto found = std::ranges::find_if(host.tools.compilers, &Component::works);
  return found == host.tools.compilers.end() ? "g++" : found->name;
}

Task<Result<bool>> serve_stage(Workbench& bench, NodeSetup setup) {
  auto input = CO_TRY(AsyncFd::open(bench.loop, bench.driver, Fd(::dup(STDIN_FILENO))));
  auto output = CO_TRY(AsyncFd::open(bench.loop, bench.driver, Fd(::dup(STDOUT_FILENO))));
  Node node(bench.loop, bench.driver, bench.processes, std::move(setup));
  CO_TRY(co_await node.serve(*input, *output));
  co_return true;
}

}  // namespace

Result<ExitCode> serve_node(const ServeNode& command) {
  if (::isatty(STDIN_FILENO) == 1) {
    return fail(ErrorCode::bad_usage, "a controller is expected on standard input, not a person",
                "see --help, or ask what this host offers with --check");
  }
  HostReport host = TRY(look_at_host({}));
  const std::vector<int> cores = allowed_cores();
  std::vector<NodeDevice> devices = TRY(choose_devices(host, command.devices, cores));
  NodeSetup setup{.devices = devices,
                  .lanes = static_cast<std::size_t>(std::max(1, host.machine.cores / 2)),
                  .pause_compiling = host.machine.cores <= kFewCores,
                  .judge = {.device = {},
                            .compiler = working_compiler(host),
                            .keep_off = cores_of_devices(devices, cores)},
                  .version = std::string(version())};
  if (!command.compiler.empty()) setup.judge.compiler = command.compiler;
  if (!command.python.empty()) setup.judge.python = command.python;
  if (!command.ncu.empty()) setup.judge.ncu = command.ncu;
  TRY(perform_at_workbench<bool>(
      [&](Workbench& bench) { return serve_stage(bench, std::move(setup)); }));
  return ExitCode::done;
}

}  // namespace specgen
