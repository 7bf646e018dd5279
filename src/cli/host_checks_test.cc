#include "cli/host_checks.h"

#include <gtest/gtest.h>

#include "cli/host_fixes.h"

#include <algorithm>

#include "base/text.h"
#include "cli/fake_hosts.h"

namespace specgen {
namespace {

Check check_of(const HostReport& host, std::string_view id, Bytes min_free = GiB(2)) {
  for (Check& check : checks_of(host, min_free)) {
    if (check.id == id) return check;
  }
  ADD_FAILURE() << "there is no check " << id;
  return {};
}

TEST(HostChecks, have_stable_ids_on_every_host) {
  const std::vector<std::string> kIds{
      "cpu.compiler",       "cuda.driver",         "cuda.gpu",           "cuda.nvrtc",
      "cuda.nvml",          "cuda.nvcc",           "profiling.ncu",      "profiling.counters",
      "profiling.cupti",    "profiling.sanitizer", "sandbox.bubblewrap", "sandbox.user-namespaces",
      "sandbox.seccomp",    "sandbox.cgroup",      "sandbox.own-uid",    "sandbox.landlock",
      "python.interpreter", "python.torch",        "python.triton",      "machine.cores",
      "machine.memory",     "machine.disk"};
  for (const HostReport& host : {gpu_server(), laptop(), HostReport{}}) {
    std::vector<std::string> ids;
    for (const Check& check : checks_of(host, GiB(2))) ids.push_back(check.id);
    EXPECT_EQ(ids, kIds);
  }
}

TEST(HostChecks, have_a_fix_exactly_when_something_is_wrong) {
  HostReport broken = gpu_server();
  broken.cuda.driver.works = false;
  broken.tools.torch_sees_gpu = false;
  broken.machine.disk_problem = "x";
  for (const HostReport& host : {gpu_server(), laptop(), HostReport{}, broken}) {
    for (const Check& check : checks_of(host, GiB(2))) {
      EXPECT_EQ(check.fix.empty(), check.state == CheckState::ok) << check.id << ": " << check.fix;
      EXPECT_FALSE(check.purpose.empty()) << check.id;
      EXPECT_EQ(check.id.substr(0, check.id.find('.')), check.group);
      EXPECT_NE(group_title(check.group), check.group) << "a group without a title";
    }
  }
}

TEST(HostChecks, of_a_complete_server_are_all_ok) {
  for (const Check& check : checks_of(gpu_server(), GiB(2))) {
    EXPECT_EQ(check.state, CheckState::ok) << check.id << ": " << check.detail;
    EXPECT_FALSE(check.detail.empty()) << check.id;
  }
  EXPECT_EQ(check_of(gpu_server(), "cuda.gpu").detail,
            "NVIDIA H200 (sm_90, 140 GiB, 132 multiprocessors)");
  EXPECT_EQ(check_of(gpu_server(), "cuda.driver").detail, "580.159.04, CUDA 13.0");
}

TEST(HostChecks, one_working_compiler_is_enough_and_a_broken_one_is_named) {
  HostReport host = gpu_server();
  host.tools.compilers[1].works = false;
  host.tools.compilers[1].problem = "does not compile: no cmath";
  Check check = check_of(host, "cpu.compiler");
  EXPECT_EQ(check.state, CheckState::ok);
  EXPECT_EQ(check.detail, "g++ 13.3.0; clang++: does not compile: no cmath");
}

TEST(HostChecks, without_a_compiler_say_which_package_has_one) {
  HostReport host = gpu_server();
  host.tools.compilers = {{.name = "g++"}, {.name = "clang++"}};
  Check check = check_of(host, "cpu.compiler");
  EXPECT_EQ(check.state, CheckState::missing);
  EXPECT_EQ(check.detail, "no g++ and no clang++");
  EXPECT_EQ(check.fix, "sudo apt install g++");
}

TEST(HostChecks, a_tool_named_in_the_settings_is_corrected_there) {
  HostReport host = gpu_server();
  host.tools.compilers = {{.name = "my++", .problem = "not on PATH"}};
  host.tools.python = {.name = "venv/bin/python", .problem = "not an executable file"};
  host.tools.ncu = {.name = "/opt/ncu", .problem = "not an executable file"};
  EXPECT_EQ(check_of(host, "cpu.compiler").fix,
            "correct [tools] compiler = \"my++\" in the settings file");
  EXPECT_EQ(check_of(host, "python.interpreter").fix,
            "correct [tools] python = \"venv/bin/python\" in the settings file");
  EXPECT_EQ(check_of(host, "profiling.ncu").fix,
            "correct [tools] ncu = \"/opt/ncu\" in the settings file");
}

TEST(HostChecks, without_a_gpu_no_package_is_advised_that_would_be_of_no_use) {
  for (std::string_view id :
       {"cuda.driver", "cuda.gpu", "cuda.nvrtc", "cuda.nvml", "cuda.nvcc", "profiling.ncu",
        "profiling.counters", "profiling.cupti", "profiling.sanitizer"}) {
    EXPECT_EQ(check_of(laptop(), id).fix, "use a host with an NVIDIA GPU") << id;
  }
}

TEST(HostChecks, a_driver_without_a_gpu_does_not_hide_that_there_is_none) {
  HostReport host = laptop();
  host.cuda.driver = {.name = "libcuda", .found = true, .problem = "error 100: no device"};
  EXPECT_EQ(check_of(host, "cuda.driver").fix, "use a host with an NVIDIA GPU");
}

TEST(HostChecks, a_plugged_in_gpu_needs_a_driver_or_a_container_that_has_it) {
  HostReport host = laptop();
  host.cuda.gpu_on_bus = true;
  Check check = check_of(host, "cuda.driver");
  EXPECT_EQ(check.detail, "an NVIDIA GPU is plugged in, but there is no driver");
  EXPECT_NE(check.fix.find("sudo apt install nvidia-driver"), std::string::npos);
  host.cuda.kernel_driver = "580.95.05";
  EXPECT_EQ(check_of(host, "cuda.driver").detail,
            "the kernel has 580.95.05, but there is no libcuda.so.1");
  EXPECT_NE(check_of(host, "cuda.driver").fix.find("--gpus all"), std::string::npos);
}

TEST(HostChecks, a_gpu_that_is_hidden_by_a_variable_is_reported_so) {
  HostReport host = gpu_server();
  host.cuda.visible_devices = "0";
  EXPECT_EQ(check_of(host, "cuda.gpu").detail,
            "NVIDIA H200 (sm_90, 140 GiB, 132 multiprocessors); CUDA_VISIBLE_DEVICES=0");
  host.cuda.visible_devices = "";
  host.cuda.driver.works = false;
  host.cuda.driver.problem = "error 100: no CUDA-capable device is detected";
  host.cuda.gpus.clear();
  EXPECT_EQ(check_of(host, "cuda.driver").fix, "unset CUDA_VISIBLE_DEVICES (it is '')");
  EXPECT_EQ(check_of(host, "cuda.gpu").fix, "unset CUDA_VISIBLE_DEVICES (it is '')");
}

TEST(HostChecks, advise_the_toolkit_that_the_driver_supports) {
  HostReport host = gpu_server();
  host.cuda.driver.version = "12.4";
  host.cuda.nvrtc = {.name = "libnvrtc", .problem = "not on this host"};
  EXPECT_EQ(check_of(host, "cuda.nvrtc").fix,
            "sudo apt install cuda-nvrtc-12-4 (NVIDIA's repository), or set CUDA_HOME");
}

TEST(HostChecks, an_nvrtc_newer_than_the_driver_is_limited) {
  HostReport host = gpu_server();
  host.cuda.driver.version = "12.8";
  Check check = check_of(host, "cuda.nvrtc");
  EXPECT_EQ(check.state, CheckState::limited);
  EXPECT_EQ(check.detail, "13.0 is newer than the driver (12.8): what it compiles may not load");
  host.cuda.driver.version = "13.2";
  EXPECT_EQ(check_of(host, "cuda.nvrtc").state, CheckState::ok);
}

TEST(HostChecks, an_nvrtc_older_than_the_gpu_is_limited) {
  HostReport host = gpu_server();
  host.cuda.architectures = {75, 80};
  Check check = check_of(host, "cuda.nvrtc");
  EXPECT_EQ(check.state, CheckState::limited);
  EXPECT_EQ(check.detail, "13.0 cannot compile for NVIDIA H200 (sm_90)");
  EXPECT_EQ(verdict(host),
            "ready: CPU kernels, PyTorch tasks; a GPU, but no NVRTC that compiles "
            "for it; sandbox up to L3");
}

TEST(HostChecks, a_torch_that_misses_the_gpu_is_limited) {
  HostReport host = gpu_server();
  host.tools.torch_sees_gpu = false;
  EXPECT_EQ(check_of(host, "python.torch").state, CheckState::limited);
  EXPECT_EQ(check_of(host, "python.torch").detail, "2.11.0, sees no GPU");
  host.tools.torch_cuda = "";
  EXPECT_EQ(check_of(host, "python.torch").detail, "2.11.0, without CUDA");
  host.cuda.gpus.clear();
  EXPECT_EQ(check_of(host, "python.torch").state, CheckState::ok);
}

TEST(HostChecks, a_library_that_crashes_says_so) {
  HostReport host = gpu_server();
  host.cuda.driver = {.name = "libcuda", .found = true, .problem = "crashes: signal 11"};
  host.cuda.gpus.clear();
  EXPECT_EQ(check_of(host, "cuda.driver").state, CheckState::missing);
  EXPECT_EQ(check_of(host, "cuda.driver").detail, "crashes: signal 11");
}

TEST(HostChecks, the_disk_is_measured_against_the_setting) {
  HostReport host = laptop();
  EXPECT_EQ(check_of(host, "machine.disk", GiB(60)).state, CheckState::ok);
  Check little = check_of(host, "machine.disk", GiB(61));
  EXPECT_EQ(little.state, CheckState::limited);
  EXPECT_EQ(little.detail, "60.0 GiB free for specgen-runs, less than 61.0 GiB");
  host.machine.disk_problem = "/x: Permission denied";
  EXPECT_EQ(check_of(host, "machine.disk").state, CheckState::missing);
}

TEST(HostChecks, one_core_is_limited) {
  HostReport host = laptop();
  host.machine.cores = 1;
  EXPECT_EQ(check_of(host, "machine.cores").state, CheckState::limited);
}

TEST(HostChecks, a_sandbox_that_is_shut_names_the_switch) {
  HostReport host = laptop();
  host.sandbox.bubblewrap.works = host.sandbox.user_namespaces.works = false;
  host.sandbox.closed_switch = "kernel.apparmor_restrict_unprivileged_userns=0";
  EXPECT_EQ(check_of(host, "sandbox.bubblewrap").fix,
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
  host.sandbox.bubblewrap.found = false;
  EXPECT_EQ(check_of(host, "sandbox.bubblewrap").fix, "sudo apt install bubblewrap");
}

TEST(HostChecks, a_bubblewrap_that_does_not_even_start_is_to_be_installed) {
  HostReport host = laptop();
  host.sandbox.bubblewrap = {.name = "bubblewrap",
                             .found = true,
                             .path = "/x/bwrap",
                             .problem = "/x/bwrap: libcap.so.2: cannot open (exit code 127)"};
  Check check = check_of(host, "sandbox.bubblewrap");
  EXPECT_EQ(check.detail, "/x/bwrap: libcap.so.2: cannot open (exit code 127)");
  EXPECT_EQ(check.fix, "sudo apt install bubblewrap");
}

TEST(HostChecks, control_groups_that_are_shut_name_the_file_to_write) {
  HostReport host = laptop();
  EXPECT_NE(check_of(host, "sandbox.cgroup").fix.find("systemd-run --user"), std::string::npos);
  host.sandbox.cgroups.closed_switch = "/sys/fs/cgroup/cgroup.subtree_control";
  EXPECT_EQ(check_of(host, "sandbox.cgroup").fix,
            "echo '+memory +pids' | sudo tee /sys/fs/cgroup/cgroup.subtree_control");
}

TEST(Verdict, says_in_one_line_what_can_be_done) {
  EXPECT_EQ(verdict(gpu_server()),
            "ready: CPU kernels, CUDA kernels on 1 GPU, PyTorch tasks; sandbox up to L3");
  EXPECT_EQ(verdict(laptop()), "ready: CPU kernels; no GPU found; sandbox up to L2");
  EXPECT_EQ(verdict(HostReport{}),
            "not ready: no working C++ compiler, and no GPU with NVRTC; no sandbox is possible, so "
            "runs would need --allow-unsandboxed");
}

TEST(HostChecks, torch_goes_into_a_folder_of_its_own_where_python_is_the_systems) {
  Component python{.name = "python3", .found = true, .works = true, .path = "/usr/bin/python3"};
  EXPECT_EQ(fix_for_python_package(python, "torch"),
            "python3 -m venv .venv && .venv/bin/pip install torch; then [tools] python = "
            "\".venv/bin/python3\" in specgen.toml");
  python.path = "/opt/venv/bin/python3";
  EXPECT_EQ(fix_for_python_package(python, "torch"), "python3 -m pip install torch");
}

}  // namespace
}  // namespace specgen
