#include "cli/serve.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/look.h"
#include "cli/serve_kv.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "cli/workbench.h"
#include "evaluate/node/device_list.h"
#include "evaluate/node/node.h"
#include "kvcache/kv_lender.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr int kFewCores = 2;

std::string working_compiler(const HostReport& host) {
  auto found = std::ranges::find_if(host.tools.compilers, &Component::works);
  return found == host.tools.compilers.end() ? "g++" : found->name;
}

// Serves devices to a controller, the KV cache to engines, or both.
Task<Result<bool>> serve_stage(Workbench& bench, std::optional<NodeSetup> setup,
                               std::optional<ServeKv> kv, std::vector<int> cores,
                               std::vector<int> gpus) {
  ServingKv serving;
  if (kv) {
    serving = CO_TRY(start_kv(bench.loop, bench.driver, *kv, std::move(cores), gpus));
    // A controller has standard output for itself.
    if (setup) print_error(kv_banner(serving));
    if (!setup) CO_TRY(print_output(kv_banner(serving) + "\n"));
  }
  if (!setup) {
    co_await Event(bench.loop).wait();  // a signal ends this
    co_return true;
  }
  setup->lender = serving.lender.get();
  auto input = CO_TRY(AsyncFd::open(bench.loop, bench.driver, Fd(::dup(STDIN_FILENO))));
  auto output = CO_TRY(AsyncFd::open(bench.loop, bench.driver, Fd(::dup(STDOUT_FILENO))));
  Node node(bench.loop, bench.driver, bench.processes, std::move(*setup));
  CO_TRY(co_await node.serve(*input, *output));
  co_return true;
}

// A controller speaks through a pipe or a socket. A terminal, a file and /dev/null (of services) are none.
bool controller_is_on_standard_input() {
  struct stat input{};
  return ::fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
}

Result<NodeSetup> set_up_node(const ServeNode& command, const HostReport& host,
                              const std::vector<int>& cores) {
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
  return setup;
}

// Those that are served, or without a controller those that were named; the first if none was.
std::vector<int> gpus_among(const ServeNode& command, const std::optional<NodeSetup>& setup) {
  std::vector<std::string> names = command.devices;
  if (setup) {
    names.clear();
    for (const NodeDevice& device : setup->devices) names.push_back(device.id);
  } else if (names.empty()) {
    names.push_back("cuda:0");
  }
  std::vector<int> gpus;
  for (std::string_view name : names) {
    if (auto gpu = gpu_number(name)) gpus.push_back(*gpu);
  }
  return gpus;
}

}  // namespace

Result<ExitCode> serve_node(const ServeNode& command) {
  const bool is_controlled = controller_is_on_standard_input();
  if (!is_controlled && !command.kv && ::isatty(STDIN_FILENO) == 1) {
    return fail(ErrorCode::bad_usage, "a controller is expected on standard input, not a person",
                "see --help, or ask what this host offers with --check");
  }
  std::vector<int> cores = allowed_cores();
  std::optional<NodeSetup> setup;
  if (is_controlled || !command.kv) {
    setup = TRY(set_up_node(command, TRY(look_at_host({})), cores));
    // What is timed on a core must have it alone.
    std::erase_if(cores, [&](int core) {
      return std::ranges::find(setup->judge.keep_off, core) != setup->judge.keep_off.end();
    });
  }
  std::vector<int> gpus = gpus_among(command, setup);
  TRY(perform_at_workbench<bool>([&](Workbench& bench) {
    return serve_stage(bench, std::move(setup), command.kv, std::move(cores), std::move(gpus));
  }));
  return ExitCode::done;
}

}  // namespace specgen
