#include "cli/host_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/host_fixes.h"

namespace specgen {
namespace {

using enum CheckState;

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kGroups{{
    {"cpu", "CPU kernels"},
    {"cuda", "CUDA kernels"},
    {"profiling", "Profiling"},
    {"sandbox", "Sandbox"},
    {"python", "PyTorch tasks"},
    {"machine", "Machine"},
}};

std::string with_path(std::string text, const Component& component) {
  if (component.path.empty() || text.find(component.path) != std::string::npos) return text;
  return fmt::format("{} ({})", text, component.path);
}

std::string name_and_version(const Component& component) {
  if (component.version.empty()) return component.name;
  return fmt::format("{} {}", component.name, component.version);
}

// The common case: a version if it works, else the reason why it does not.
Check plain(std::string id, std::string name, const Component& component, std::string purpose,
            std::string fix) {
  Check check{.id = id,
              .group = id.substr(0, id.find('.')),
              .name = std::move(name),
              .purpose = std::move(purpose)};
  if (component.works) {
    check.state = ok;
    check.detail = with_path(component.version.empty() ? "works" : component.version, component);
  } else {
    check.state = missing;
    check.detail = component.found ? with_path(component.problem, component) : component.problem;
    check.fix = std::move(fix);
  }
  return check;
}

Check compiler_check(const Tools& tools) {
  Check check{.id = "cpu.compiler",
              .group = "cpu",
              .name = "C++ compiler",
              .purpose = "compiling CPU kernels and the references of tasks"};
  std::vector<std::string> working, broken, absent;
  for (const Component& compiler : tools.compilers) {
    if (compiler.works) working.push_back(name_and_version(compiler));
    if (!compiler.works && compiler.found) {
      broken.push_back(fmt::format("{}: {}", compiler.name, compiler.problem));
    }
    if (!compiler.found) absent.push_back(compiler.name);
  }
  check.state = working.empty() ? missing : ok;
  check.detail = join(working, ", ");
  if (!broken.empty()) {
    if (!check.detail.empty()) check.detail += "; ";
    check.detail += join(broken, "; ");
  }
  if (check.detail.empty()) check.detail = fmt::format("no {}", join(absent, " and no "));
  if (check.state != ok) check.fix = fix_for_compiler(tools);
  return check;
}

Check driver_check(const CudaReport& cuda) {
  Check check =
      plain("cuda.driver", "driver", cuda.driver, "running CUDA kernels", fix_for_driver(cuda));
  if (cuda.driver.works) {
    check.detail = fmt::format("CUDA {}", cuda.driver.version);
    if (!cuda.kernel_driver.empty()) {
      check.detail = fmt::format("{}, {}", cuda.kernel_driver, check.detail);
    }
  } else if (!cuda.driver.found) {
    check.detail = "no libcuda.so.1, and no NVIDIA GPU on the PCI bus";
    if (cuda.gpu_on_bus) check.detail = "an NVIDIA GPU is plugged in, but there is no driver";
    if (!cuda.kernel_driver.empty()) {
      check.detail =
          fmt::format("the kernel has {}, but there is no libcuda.so.1", cuda.kernel_driver);
    }
  }
  return check;
}

Check gpu_check(const CudaReport& cuda) {
  Check check{.id = "cuda.gpu", .group = "cuda", .name = "GPUs", .purpose = "running CUDA kernels"};
  std::vector<std::string> names;
  names.reserve(cuda.gpus.size());
  for (const Gpu& gpu : cuda.gpus) {
    names.push_back(fmt::format("{} (sm_{}, {}, {} multiprocessors)", gpu.name, gpu.architecture(),
                                format_bytes(gpu.memory), gpu.multiprocessors));
  }
  check.detail = names.empty() ? "none" : join(names, ", ");
  check.state = names.empty() ? missing : ok;
  if (!names.empty() && cuda.visible_devices) {
    check.detail += fmt::format("; CUDA_VISIBLE_DEVICES={}", *cuda.visible_devices);
  }
  if (!names.empty() && !cuda.driver.problem.empty()) {
    check.state = limited;
    check.detail += "; " + cuda.driver.problem;
    check.fix = "see `nvidia-smi` and the kernel's log (`sudo dmesg | grep Xid`)";
  }
  if (names.empty()) check.fix = fix_for_driver(cuda);
  return check;
}

Check nvrtc_check(const CudaReport& cuda) {
  Check check = plain("cuda.nvrtc", "NVRTC", cuda.nvrtc, "compiling CUDA kernels",
                      fix_for_cuda_package(cuda, "cuda-nvrtc"));
  if (!cuda.nvrtc.works) return check;
  check.detail = with_path(fmt::format("{}, compiles for sm_90", cuda.nvrtc.version), cuda.nvrtc);
  for (const Gpu& gpu : cuda.gpus) {
    if (compiles_for(cuda, gpu)) continue;
    check.state = limited;
    check.detail = fmt::format("{} cannot compile for {} (sm_{})", cuda.nvrtc.version, gpu.name,
                               gpu.architecture());
    check.fix = fix_for_cuda_package(cuda, "cuda-nvrtc");
  }
  // A driver loads machine code of its own major version and of older ones.
  int driver_major = std::atoi(cuda.driver.version.c_str());
  if (cuda.driver.works && std::atoi(cuda.nvrtc.version.c_str()) > driver_major) {
    check.state = limited;
    check.detail = fmt::format("{} is newer than the driver ({}): what it compiles may not load",
                               cuda.nvrtc.version, cuda.driver.version);
    check.fix = fix_for_cuda_package(cuda, "cuda-nvrtc");
  }
  return check;
}

void add_cuda(const HostReport& host, std::vector<Check>& checks) {
  const CudaReport& cuda = host.cuda;
  checks.push_back(driver_check(cuda));
  checks.push_back(gpu_check(cuda));
  checks.push_back(nvrtc_check(cuda));
  checks.push_back(plain("cuda.nvml", "NVML", cuda.nvml,
                         "seeing that a GPU keeps its pace while programs are compared on it",
                         fix_for_driver(cuda)));
  checks.push_back(plain("cuda.nvcc", "nvcc", host.tools.nvcc,
                         "PyTorch candidates with inline CUDA, and exported kernels",
                         fix_for_cuda_package(cuda, "cuda-nvcc")));
}

void add_profiling(const HostReport& host, std::vector<Check>& checks) {
  const CudaReport& cuda = host.cuda;
  checks.push_back(plain("profiling.ncu", "Nsight Compute", host.tools.ncu,
                         "hardware counters as feedback for the model",
                         fix_for_tool(host.tools.ncu, "ncu", "ncu",
                                      fix_for_cuda_package(cuda, "cuda-nsight-compute"))));
  checks.push_back(plain("profiling.counters", "GPU counters", host.tools.counters,
                         "hardware counters as feedback for the model", fix_for_counters(cuda)));
  checks.push_back(plain("profiling.cupti", "CUPTI", cuda.cupti,
                         "profilers of your own; specgen counts with ncu",
                         fix_for_cuda_package(cuda, "cuda-cupti")));
  checks.push_back(plain("profiling.sanitizer", "compute-sanitizer", host.tools.compute_sanitizer,
                         "finding races of a CUDA kernel (you run it)",
                         fix_for_cuda_package(cuda, "cuda-sanitizer")));
}

void add_sandbox(const HostReport& host, std::vector<Check>& checks) {
  const SandboxFeatures& sandbox = host.sandbox;
  checks.push_back(plain("sandbox.bubblewrap", "bubblewrap", sandbox.bubblewrap,
                         "hiding files, processes and the network from a candidate (levels L2, L3)",
                         fix_for_bubblewrap(sandbox)));
  Check spaces = plain("sandbox.user-namespaces", "user namespaces", sandbox.user_namespaces,
                       "bubblewrap without root", fix_for_user_namespaces(sandbox));
  if (sandbox.user_namespaces.works) spaces.detail = "allowed, with rights inside";
  if (!sandbox.user_namespaces.works && sandbox.bubblewrap.works) spaces.state = limited;
  checks.push_back(std::move(spaces));
  Check seccomp = plain("sandbox.seccomp", "seccomp filters", sandbox.seccomp,
                        "refusing system calls that no candidate needs (every level)",
                        "use a kernel with CONFIG_SECCOMP_FILTER, or a container that allows it");
  if (sandbox.seccomp.works) seccomp.detail = "the kernel accepts them";
  checks.push_back(std::move(seccomp));
  Check cgroup = plain("sandbox.cgroup", "control groups", sandbox.cgroups.cgroup,
                       "hard limits on memory and processes (level L3)", fix_for_cgroup(sandbox));
  if (sandbox.cgroups.cgroup.works) {
    cgroup.detail =
        fmt::format("cgroup {} limits memory and processes", sandbox.cgroups.cgroup.version);
  } else {
    cgroup.state = limited;
  }
  checks.push_back(std::move(cgroup));
  Check uid = plain("sandbox.own-uid", "own user id", sandbox.own_uid,
                    "running a candidate as a user who owns nothing (levels L1, L3)",
                    "run specgen as root, or give it CAP_SETUID and CAP_SETGID");
  if (sandbox.own_uid.works) uid.detail = "candidates can run as another user";
  if (!sandbox.own_uid.works) uid.state = limited;
  checks.push_back(std::move(uid));
  Check landlock = plain("sandbox.landlock", "Landlock", sandbox.landlock,
                         "hiding files where namespaces are not available (level L1)",
                         "use Linux 5.13 or newer with landlock in the boot parameter lsm=");
  if (sandbox.landlock.works) landlock.detail = fmt::format("ABI {}", sandbox.landlock.version);
  if (!sandbox.landlock.works && sandbox.bubblewrap.works) landlock.state = limited;
  checks.push_back(std::move(landlock));
}

void add_python(const HostReport& host, std::vector<Check>& checks) {
  const Tools& tools = host.tools;
  checks.push_back(plain("python.interpreter", "Python", tools.python,
                         "tasks written as PyTorch modules",
                         fix_for_tool(tools.python, "python", "python3",
                                      "sudo apt install python3 python3-pip python3-venv")));
  std::string pip = tools.python.name + " -m pip install ";
  Check torch =
      plain("python.torch", "torch", tools.torch, "references and inputs of PyTorch tasks",
            fix_for_python_package(tools.python, "torch"));
  if (tools.torch.works) {
    torch.detail = tools.torch.version + (tools.torch_cuda.empty() ? ", without CUDA"
                                          : tools.torch_sees_gpu   ? ", sees the GPU"
                                                                   : ", sees no GPU");
    if (!host.cuda.gpus.empty() && !tools.torch_sees_gpu) {
      torch.state = limited;
      torch.fix =
          tools.torch_cuda.empty()
              ? pip + "--force-reinstall torch, from the index for your CUDA (pytorch.org)"
              : "see CUDA_VISIBLE_DEVICES, and that torch's CUDA is not newer than the driver's";
    }
  }
  checks.push_back(std::move(torch));
  checks.push_back(
      plain("python.triton", "triton", tools.triton, "candidates written in Triton",
            fix_for_python_package(
                tools.python, tools.torch.found ? "triton" : "torch")));  // torch brings it along
}

void add_machine(const HostReport& host, Bytes min_free, std::vector<Check>& checks) {
  const Machine& machine = host.machine;
  Check cores{.id = "machine.cores",
              .group = "machine",
              .name = "cores",
              .state = machine.cores > 1 ? ok : limited,
              .detail = machine.cpu.empty() ? std::to_string(machine.cores)
                                            : fmt::format("{} ({})", machine.cores, machine.cpu),
              .purpose = "timing on one core while the judge works on another"};
  if (cores.state != ok) cores.fix = "give the machine or container a second core";
  checks.push_back(std::move(cores));

  constexpr Bytes kEnoughMemory = GiB(2);
  bool enough = machine.memory >= kEnoughMemory;
  Check memory{.id = "machine.memory",
               .group = "machine",
               .name = "memory",
               .state = enough ? ok : limited,
               .detail = fmt::format("{}, {} available", format_bytes(machine.memory),
                                     format_bytes(machine.memory_available)),
               .purpose = "inputs, expected outputs and compilers side by side"};
  if (!enough)
    memory.fix = fmt::format("use a machine with {} or more", format_bytes(kEnoughMemory));
  checks.push_back(std::move(memory));

  Check disk{.id = "machine.disk",
             .group = "machine",
             .name = "disk",
             .state = ok,
             .detail = fmt::format("{} free for {}", format_bytes(machine.disk_free),
                                   machine.runs_folder.string()),
             .purpose = "the journal and artifacts of runs"};
  if (!machine.disk_problem.empty()) {
    disk.state = missing;
    disk.detail = "runs cannot be written: " + machine.disk_problem;
    disk.fix = "make the folder writable, or set another: [runs] folder in specgen.toml";
  } else if (machine.disk_free < min_free) {
    disk.state = limited;
    disk.detail += fmt::format(", less than {}", format_bytes(min_free));
    disk.fix = "free some space, or set another folder: [runs] folder in specgen.toml";
  }
  checks.push_back(std::move(disk));
}

}  // namespace

std::string_view to_string(CheckState state) {
  constexpr std::array<std::string_view, 3> kNames{"ok", "limited", "missing"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view group_title(std::string_view group) {
  auto found = std::ranges::find(kGroups, group, [](const auto& entry) { return entry.first; });
  return found == kGroups.end() ? group : found->second;
}

std::vector<Check> checks_of(const HostReport& host, Bytes min_free_disk) {
  std::vector<Check> checks;
  checks.push_back(compiler_check(host.tools));
  add_cuda(host, checks);
  add_profiling(host, checks);
  add_sandbox(host, checks);
  add_python(host, checks);
  add_machine(host, min_free_disk, checks);
  return checks;
}

std::string verdict(const HostReport& host) {
  Ready can = ready(host);
  std::vector<std::string> able;
  if (can.cpu) able.emplace_back("CPU kernels");
  if (can.cuda) {
    std::size_t gpus = host.cuda.gpus.size();
    able.push_back(fmt::format("CUDA kernels on {} GPU{}", gpus, gpus == 1 ? "" : "s"));
  }
  if (can.pytorch) able.emplace_back("PyTorch tasks");
  std::string line = able.empty() ? "not ready: no working C++ compiler, and no GPU with NVRTC"
                                  : "ready: " + join(able, ", ");
  if (can.cpu && !can.cuda) {
    line +=
        host.cuda.gpus.empty() ? "; no GPU found" : "; a GPU, but no NVRTC that compiles for it";
  }
  SandboxLevel level = level_possible(host.sandbox);
  if (level == SandboxLevel::none) {
    line += "; no sandbox is possible, so runs would need --allow-unsandboxed";
  } else {
    line += fmt::format("; sandbox up to {}", to_string(level));
  }
  return line;
}

}  // namespace specgen
