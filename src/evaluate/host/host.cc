#include "evaluate/host/host.h"

#include <algorithm>
#include <utility>

#include "base/temporary_folder.h"
#include "evaluate/host/cuda_report.h"
#include "runtime/race.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

// The limit is for all steps of a probe together. The slack lets a single step time out first: its message is more
// precise.
constexpr Duration kSlack = std::chrono::milliseconds(100);

class Probes {
 public:
  Probes(Loop& loop, const HostProbe& probe) : loop_(loop), probe_(probe), group_(loop) {}

  // `target` gets the problem if the probe does not end in time.
  void add(std::string name, Component& target, Task<void> task) {
    awaited_.push_back(name);
    ++total_;
    group_.spawn(watch(std::move(name), target, std::move(task)));
  }
  Task<Result<void>> join() {
    report_pending();
    co_return co_await group_.join();
  }

 private:
  Task<void> watch(std::string name, Component& target, Task<void> task) {
    auto in_time = co_await with_timeout(loop_, probe_.time_limit + kSlack, std::move(task));
    if (!in_time) {
      target.works = false;
      target.problem = "no answer within " + format_duration(probe_.time_limit);
    }
    awaited_.erase(std::ranges::find(awaited_, name));
    report_pending();
  }
  void report_pending() const {
    if (probe_.on_progress) probe_.on_progress(awaited_, total_);
  }

  Loop& loop_;
  const HostProbe& probe_;
  std::vector<std::string> awaited_;
  std::size_t total_ = 0;
  TaskGroup group_;  // last, so that its tasks end before what they use
};

// bubblewrap's witness is this program, which exists on any host. The link is resolved here, because inside the sandbox
// it would be bubblewrap.
std::vector<std::string> witness(const std::string& self) {
  std::error_code error;
  std::filesystem::path resolved = std::filesystem::canonical(self, error);
  return {error ? self : resolved.string(), "--version"};
}

}  // namespace

Ready ready(const HostReport& host) {
  Ready ready;
  ready.cpu = std::ranges::any_of(host.tools.compilers, &Component::works);
  ready.cuda = host.cuda.driver.works && std::ranges::any_of(host.cuda.gpus, [&](const Gpu& gpu) {
                 return compiles_for(host.cuda, gpu);
               });
  ready.pytorch = host.tools.torch.works && ready.any();
  return ready;
}

Task<Result<HostReport>> probe_host(Loop& loop, Processes& processes, HostProbe probe) {
  HostReport host;
  Tools& tools = host.tools;
  for (const std::string& name : probe.compilers) tools.compilers.push_back({.name = name});
  tools.python.name = probe.python;
  tools.ncu.name = probe.ncu;

  TemporaryFolder scratch = CO_TRY(TemporaryFolder::make());
  ToolTrial trial{.folder = scratch.path(), .time_limit = probe.time_limit};
  Probes probes(loop, probe);
  for (Component& compiler : tools.compilers) {
    probes.add(compiler.name, compiler, probe_compiler(processes, trial, compiler));
  }
  for (auto [what, library] :
       {std::pair{"driver", &host.cuda.driver}, std::pair{"nvrtc", &host.cuda.nvrtc},
        std::pair{"nvml", &host.cuda.nvml}, std::pair{"cupti", &host.cuda.cupti}}) {
    probes.add(library->name, *library,
               probe_cuda_library(processes, {probe.self}, what, probe.time_limit, host.cuda));
  }
  for (Component* tool : {&tools.nvcc, &tools.ncu, &tools.compute_sanitizer}) {
    probes.add(tool->name, *tool, probe_cuda_tool(processes, trial, *tool));
  }
  probes.add(tools.python.name, tools.python, probe_python(processes, trial, tools.python));
  probes.add("torch", tools.torch, probe_torch(processes, probe.python, trial, tools));
  probes.add("triton", tools.triton, probe_triton(processes, probe.python, trial, tools.triton));
  probes.add("bubblewrap", host.sandbox.bubblewrap,
             probe_bubblewrap(processes, witness(probe.self), probe.time_limit, host.sandbox));
  probes.add("user namespaces", host.sandbox.user_namespaces,
             probe_confinement(processes, {probe.self}, probe.time_limit, host.sandbox));

  look_for_nvidia_driver(host.cuda);
  look_at_counters(tools.counters);
  ask_kernel_for_sandbox(host.sandbox);
  host.machine = look_at_machine(probe.runs_folder);
  CO_TRY(co_await probes.join());
  co_return host;
}

}  // namespace specgen
