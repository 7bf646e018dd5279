#include "cli/host_json.h"

#include <boost/json.hpp>

#include "evaluate/host/cuda_report.h"

namespace specgen {

Json ready_json(const HostReport& host) {
  Ready can = ready(host);
  return boost::json::object{{"cpu", can.cpu}, {"cuda", can.cuda}, {"pytorch", can.pytorch}};
}

Json sandbox_json(const SandboxFeatures& box) {
  Json cgroup = nullptr;
  if (box.cgroups.cgroup.works) cgroup = box.cgroups.cgroup.version;
  Json landlock = nullptr;
  if (box.landlock.works) landlock = std::stoi(box.landlock.version);
  return boost::json::object{{"level_possible", to_string(level_possible(box))},
                             {"bubblewrap", box.bubblewrap.works},
                             {"user_namespaces", box.user_namespaces.works},
                             {"seccomp", box.seccomp.works},
                             {"cgroup", cgroup},
                             {"own_uid", box.own_uid.works},
                             {"landlock_abi", landlock}};
}

Json gpus_json(const CudaReport& cuda) {
  boost::json::array gpus;
  for (const Gpu& gpu : cuda.gpus) gpus.push_back(to_json(gpu));
  return gpus;
}

Json machine_json(const Machine& machine) {
  return boost::json::object{{"cpu", machine.cpu},
                             {"cores", machine.cores},
                             {"memory_bytes", machine.memory.count},
                             {"memory_available_bytes", machine.memory_available.count}};
}

Json runs_json(const Machine& machine) {
  return boost::json::object{{"folder", machine.runs_folder.string()},
                             {"writable", machine.disk_problem.empty()},
                             {"disk_free_bytes", machine.disk_free.count}};
}

Json components_json(const HostReport& host) {
  boost::json::array all;
  for (const Component& compiler : host.tools.compilers) all.push_back(to_json(compiler));
  for (const Component* each :
       {&host.cuda.driver, &host.cuda.nvrtc, &host.cuda.nvml, &host.cuda.cupti, &host.tools.nvcc,
        &host.tools.ncu, &host.tools.compute_sanitizer, &host.tools.python, &host.tools.torch,
        &host.tools.triton, &host.sandbox.bubblewrap}) {
    all.push_back(to_json(*each));
  }
  return all;
}

Json checks_json(std::span<const Check> checks) {
  boost::json::array all;
  for (const Check& check : checks) {
    all.push_back(boost::json::object{{"id", check.id},
                                      {"group", check.group},
                                      {"name", check.name},
                                      {"state", to_string(check.state)},
                                      {"detail", check.detail},
                                      {"purpose", check.purpose},
                                      {"fix", check.fix}});
  }
  return all;
}

}  // namespace specgen
