#include "cli/host_fixes.h"

#include <fmt/core.h>

#include <algorithm>

namespace specgen {
namespace {

constexpr std::string_view kNeedsGpu = "use a host with an NVIDIA GPU";

// libcuda alone proves nothing: hosts without a GPU have it too.
bool has_gpu(const CudaReport& cuda) {
  return cuda.gpu_on_bus || !cuda.gpus.empty() || !cuda.kernel_driver.empty();
}

}  // namespace

std::string fix_for_compiler(const Tools& tools) {
  std::string install = "sudo apt install g++";
  if (tools.compilers.size() != 1) return install;
  return fix_for_tool(tools.compilers[0], "compiler", "g++", install);
}

std::string fix_for_driver(const CudaReport& cuda) {
  if (!has_gpu(cuda)) return std::string(kNeedsGpu);
  if (cuda.kernel_driver.empty()) {
    return "sudo apt install nvidia-driver (Debian) or sudo ubuntu-drivers install (Ubuntu); then "
           "reboot";
  }
  if (cuda.driver.found && cuda.gpus.empty() && cuda.visible_devices) {
    return fmt::format("unset CUDA_VISIBLE_DEVICES (it is '{}')", *cuda.visible_devices);
  }
  // The kernel module is loaded and libcuda is missing: the usual state of a container without the toolkit.
  return "in a container: start it with --gpus all (NVIDIA Container Toolkit); else reinstall the "
         "driver";
}

std::string fix_for_counters(const CudaReport& cuda) {
  if (!has_gpu(cuda)) return std::string(kNeedsGpu);
  if (cuda.kernel_driver.empty()) return fix_for_driver(cuda);
  return "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee "
         "/etc/modprobe.d/nvidia-profiling.conf; then reboot";
}

std::string fix_for_cuda_package(const CudaReport& cuda, std::string_view package) {
  if (!has_gpu(cuda)) return std::string(kNeedsGpu);
  std::string version = cuda.driver.version.empty() ? "13.0" : cuda.driver.version;
  std::ranges::replace(version, '.', '-');
  return fmt::format("sudo apt install {}-{} (NVIDIA's repository), or set CUDA_HOME", package,
                     version);
}

std::string fix_for_tool(const Component& tool, std::string_view key, std::string_view usual,
                         std::string install) {
  if (tool.name == usual) return install;
  return fmt::format("correct [tools] {} = \"{}\" in the settings file", key, tool.name);
}

std::string fix_for_python_package(const Component& python, std::string_view package) {
  // Pip may not touch the system's own Python (Debian 12 and later refuse it).
  if (!python.found || python.path.starts_with("/usr/")) {
    return fmt::format(
        "python3 -m venv .venv && .venv/bin/pip install {}; then [tools] python = "
        "\".venv/bin/python3\" in specgen.toml",
        package);
  }
  return fmt::format("{} -m pip install {}", python.name, package);
}

std::string fix_for_bubblewrap(const SandboxFeatures& sandbox) {
  bool starts = !sandbox.bubblewrap.version.empty();
  if (!sandbox.bubblewrap.found || !starts) return "sudo apt install bubblewrap";
  if (!sandbox.user_namespaces.works) return fix_for_user_namespaces(sandbox);
  return "in a container: start it with --security-opt seccomp=unconfined and "
         "--security-opt systempaths=unconfined";
}

std::string fix_for_user_namespaces(const SandboxFeatures& sandbox) {
  if (!sandbox.closed_switch.empty()) return "sudo sysctl -w " + sandbox.closed_switch;
  return "in a container: start it with --security-opt seccomp=unconfined";
}

std::string fix_for_cgroup(const SandboxFeatures& sandbox) {
  if (const auto& gives = sandbox.cgroups.closed_switch; !gives.empty()) {
    return fmt::format("echo '+memory +pids' | sudo tee {}", gives.string());
  }
  if (sandbox.is_root)
    return "in a container: mount /sys/fs/cgroup writable (docker run --privileged)";
  return "run as root, or in a group of your own: systemd-run --user --scope -p Delegate=yes "
         "specgen ...";
}

}  // namespace specgen
