#pragma once
// For tests: reports of hosts, without probing this one.

#include "evaluate/host/host.h"

namespace specgen {

// One that has everything.
inline HostReport gpu_server() {
  HostReport host;
  auto works = [](Component& component, std::string version = {}, std::string path = {}) {
    component.found = component.works = true;
    component.version = std::move(version);
    component.path = std::move(path);
  };
  host.tools.compilers = {{.name = "g++"}, {.name = "clang++"}};
  works(host.tools.compilers[0], "13.3.0", "/usr/bin/g++");
  works(host.tools.compilers[1], "19.1.1", "/usr/bin/clang++");
  works(host.cuda.driver, "13.0", "/usr/lib/libcuda.so.1");
  host.cuda.gpus = {{.index = 0,
                     .name = "NVIDIA H200",
                     .capability_major = 9,
                     .memory = GiB(140),
                     .multiprocessors = 132}};
  works(host.cuda.nvrtc, "13.0", "/usr/local/cuda/lib64/libnvrtc.so.13");
  host.cuda.architectures = {75, 80, 90, 100};
  works(host.cuda.nvml, "580.159.04");
  works(host.cuda.cupti, "API 130001");
  host.cuda.kernel_driver = "580.159.04";
  host.cuda.gpu_on_bus = true;
  works(host.tools.nvcc, "13.0.88");
  works(host.tools.ncu, "2025.3.1.0");
  works(host.tools.compute_sanitizer, "2025.3.0");
  works(host.tools.counters, "for every user");
  works(host.tools.python, "3.12.3");
  works(host.tools.torch, "2.11.0");
  host.tools.torch_cuda = "13.0";
  host.tools.torch_sees_gpu = true;
  works(host.tools.triton, "3.6.0");
  works(host.sandbox.bubblewrap, "0.8.0", "/usr/bin/bwrap");
  works(host.sandbox.user_namespaces);
  works(host.sandbox.seccomp);
  works(host.sandbox.cgroups.cgroup, "v2", "/sys/fs/cgroup");
  works(host.sandbox.own_uid);
  works(host.sandbox.landlock, "7");
  host.sandbox.is_root = true;
  host.machine = {.cpu = "Xeon",
                  .cores = 16,
                  .memory = GiB(128),
                  .memory_available = GiB(120),
                  .runs_folder = "specgen-runs",
                  .disk_free = GiB(60),
                  .disk_problem = {}};
  return host;
}

// A compiler and a sandbox without root; no NVIDIA GPU, no torch.
inline HostReport laptop() {
  HostReport host = gpu_server();
  host.cuda = {};
  for (Component* each : {&host.cuda.driver, &host.cuda.nvrtc, &host.cuda.nvml, &host.cuda.cupti}) {
    each->problem = "not on this host";
  }
  for (Component* each : {&host.tools.nvcc, &host.tools.ncu, &host.tools.compute_sanitizer}) {
    *each = {.name = each->name, .problem = "not on PATH"};
  }
  host.tools.counters = {.name = "counters", .problem = "the NVIDIA driver is not loaded"};
  host.tools.torch = {.name = "torch", .problem = "not installed"};
  host.tools.triton = {.name = "triton", .problem = "not installed"};
  host.tools.torch_cuda = {};
  host.tools.torch_sees_gpu = false;
  host.sandbox.is_root = false;
  host.sandbox.own_uid = {.name = "own-uid", .problem = "cannot change to another uid"};
  host.sandbox.cgroups.cgroup = {
      .name = "cgroup", .found = true, .problem = "no group can be made"};
  return host;
}

}  // namespace specgen
