// Candidates that cheat, one for every known way to cheat that our interface allows, and honest ones as a control: each
// must get the verdict that its header names, at the first try.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "evaluate/candidate/cuda_gate.h"
#include "evaluate/candidate/launch_plan.h"
#include "evaluate/task/cases.h"
#include "support/adversary.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

std::string name_of(const testing::TestParamInfo<Adversary>& info) {
  return info.param.name;
}

bool has_gpu() {
  return ::access("/dev/nvidiactl", F_OK) == 0;
}

void expect_verdict(const Adversary& adversary, const std::string& device) {
  ASSERT_EQ(adversary.problem, "");
  ToolFixture fixture;
  // Always the same data: whether a kernel is wrong or only imprecise can depend on it.
  Judged judged =
      judge(fixture, adversary, device, {"--secret", "5ec4e7005ec4e7015ec4e7025ec4e703"});
  expect_allowed(judged, adversary);
  expect_well_formed(judged);
  // A GPU is not shared with other tests, as CPU cores are.
  if (device.starts_with("cuda")) expect_in_time(judged, adversary, device);
  if (adversary.max_speedup > 0 && judged.verdict() == "ok") {
    EXPECT_LT(number_at(judged.evaluation.at("speedup"), "median"), adversary.max_speedup)
        << judged.output;
  }
}

class CpuHack : public testing::TestWithParam<Adversary> {};
TEST_P(CpuHack, gets_its_verdict) {
  expect_verdict(GetParam(), "cpu:0");
}
INSTANTIATE_TEST_SUITE_P(Files, CpuHack, testing::ValuesIn(adversaries("hacks/cpu", ".cc")),
                         name_of);

class CudaHack : public testing::TestWithParam<Adversary> {};
TEST_P(CudaHack, gets_its_verdict) {
  if (!has_gpu()) GTEST_SKIP() << "NOT RUN: there is no GPU on this host";
  expect_verdict(GetParam(), "cuda:0");
}
INSTANTIATE_TEST_SUITE_P(Files, CudaHack, testing::ValuesIn(adversaries("hacks/cuda", ".cu")),
                         name_of);

// What can be tested without a GPU: whether the parser, the gates and the compiler refuse what they should and accept
// the rest. No kernel runs.
class CudaHackCompiledOnly : public testing::TestWithParam<Adversary> {
 protected:
  // Why the static checks refuse it; empty if they do not. `compiled` is false if there is no compiler.
  std::string static_fault(bool& compiled) {
    const Adversary& adversary = GetParam();
    compiled = true;
    std::string source = read_file(adversary.file).value_or("");
    if (auto clean = check_cuda_source(source, {}); !clean) return clean.error().reason;
    auto directives = parse_directives(source);
    if (!directives) return directives.error().reason;
    auto tunables = tunable_values(*directives, {});
    if (!tunables) return tunables.error().reason;
    auto names = name_expressions(*directives, *tunables);
    if (!names) return names.error().reason;
    auto task = load_task((fs::path(SPECGEN_SOURCE_DIR) / adversary.task).string());
    if (!task) return "the task: " + task.error().text();
    auto cases = public_cases(*task, Backend::cuda);
    if (!cases) return "the task: " + cases.error().text();
    for (const Case& at : *cases) {
      auto plan = resolve(*directives, *task, at, *tunables, {});
      if (!plan) return plan.error().reason;
    }
    return fault_of_binary(*tunables, compiled);
  }

 private:
  std::string fault_of_binary(const Values& tunables, bool& compiled) {
    std::string nvcc = find_program("nvcc");
    if (nvcc.empty()) nvcc = find_program("/usr/local/cuda/bin/nvcc");
    compiled = !nvcc.empty();
    if (!compiled) return "";
    FakeTools folder;
    fs::path cubin = folder.path() / "candidate.cubin";
    std::vector<std::string> argv{nvcc, "-cubin", "-arch=sm_90", "-w", "-DSPECGEN_DTYPE=float"};
    for (const auto& [name, value] : tunables) {
      argv.push_back("-D" + name + "=" + std::to_string(value));
    }
    argv.insert(argv.end(), {"-o", cubin.string(), GetParam().file.string()});
    ToolFixture fixture;
    auto done = fixture.run(
        fixture.processes.run({.argv = std::move(argv), .time_limit = std::chrono::seconds(100)}));
    if (!done) return done.error().text();
    if (!done->exit.ok()) return "compile_error: " + done->error_output;
    auto clean = check_cubin(read_file(cubin).value_or(""));
    return clean ? "" : clean.error().reason;
  }
};

TEST_P(CudaHackCompiledOnly, is_refused_by_the_static_checks_or_left_to_the_device) {
  const Adversary& adversary = GetParam();
  ASSERT_EQ(adversary.problem, "");
  bool compiled = false;
  std::string fault = static_fault(compiled);
  if (fault.empty() && !compiled) {
    GTEST_SKIP() << "NOT CHECKED: there is no nvcc on this host";
  }
  if (adversary.found_by_device) {
    EXPECT_EQ(fault, "");
  } else if (adversary.may_get("rejected")) {
    EXPECT_NE(fault, "") << "the gates accept it";
    EXPECT_FALSE(fault.starts_with("compile_error")) << fault;
  } else if (adversary.may_get("compile_error")) {
    EXPECT_TRUE(fault.starts_with("compile_error")) << fault;
  } else {
    EXPECT_EQ(fault, "");
  }
}
INSTANTIATE_TEST_SUITE_P(Files, CudaHackCompiledOnly,
                         testing::ValuesIn(adversaries("hacks/cuda", ".cu")), name_of);

TEST(Hacks, are_many_with_honest_ones_among_them) {
  for (auto [folder, ending, fewest] :
       {std::tuple{"hacks/cpu", ".cc", 60}, std::tuple{"hacks/cuda", ".cu", 44}}) {
    std::vector<Adversary> all = adversaries(folder, ending);
    EXPECT_GE(static_cast<int>(all.size()), fewest);
    EXPECT_GE(std::ranges::count_if(
                  all, [](const Adversary& one) { return one.name.starts_with("honest_"); }),
              3);
  }
}

}  // namespace
}  // namespace specgen
