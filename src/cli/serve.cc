#include "cli/serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/look.h"
#include "cli/version.h"
#include "cli/workbench.h"
#include "evaluate/node/node.h"

namespace specgen {
namespace {

constexpr int kFewCores = 2;

std::vector<NodeDevice> devices_of(const HostReport& host) {
  std::vector<NodeDevice> all;
  Ready can = ready(host);
  if (can.cpu) all.push_back({"cpu:0", host.machine.cpu});
  for (const Gpu& gpu : host.cuda.gpus) {
    if (can.cuda && compiles_for(host.cuda, gpu)) {
      all.push_back({fmt::format("cuda:{}", gpu.index), gpu.name});
    }
  }
  return all;
}

Result<std::vector<NodeDevice>> chosen(const std::vector<NodeDevice>& all,
                                       const std::vector<std::string>& wanted) {
  if (wanted.empty() && !all.empty()) return all;
  std::vector<NodeDevice> some;
  std::vector<std::string> names;
  for (const NodeDevice& device : all) names.push_back(device.id);
  for (const std::string& id : wanted) {
    auto found = std::ranges::find(all, id, &NodeDevice::id);
    if (found == all.end()) {
      return fail(ErrorCode::device_missing,
                  fmt::format("'{}' is not usable here{}", id, did_you_mean(id, names)));
    }
    some.push_back(*found);
  }
  if (some.empty()) return fail(ErrorCode::device_missing, "no device of this host is usable");
  return some;
}

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
  NodeSetup setup{.devices = TRY(chosen(devices_of(host), command.devices)),
                  .lanes = static_cast<std::size_t>(std::max(1, host.machine.cores / 2)),
                  .pause_compiling = host.machine.cores <= kFewCores,
                  .judge = {.device = {}, .compiler = working_compiler(host)},
                  .version = std::string(version())};
  TRY(perform_at_workbench<bool>(
      [&](Workbench& bench) { return serve_stage(bench, std::move(setup)); }));
  return ExitCode::done;
}

}  // namespace specgen
