// Candidates that cheat, one for every way to cheat that is known and can be written for our
// interface, and honest ones among them: each must get exactly the verdict that stands in it.

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
  // Always the same data: whether something is wrong or only imprecise may depend on it.
  const std::vector<std::string> flags{"--secret", "5ec4e7005ec4e7015ec4e7025ec4e703"};
  Judged judged = judge(fixture, adversary, device, flags);
  // What is right must be found right, but a machine that others use may be too unsteady to time.
  constexpr int kMoreTries = 7;
  for (int i = 0; i < kMoreTries && judged.verdict() == "unstable_timing"; ++i) {
    judged = judge(fixture, adversary, device, flags);
  }
  EXPECT_EQ(judged.verdict(), adversary.verdict) << judged.said;
  expect_well_told(judged);
  if (device.starts_with("cuda"))
    expect_in_time(judged, adversary, device);  // nobody else is there
  if (adversary.max_speedup > 0 && judged.verdict() == "ok") {
    EXPECT_LT(number_at(judged.evaluation.at("speedup"), "median"), adversary.max_speedup)
        << judged.said;
  }
}

class CpuHack : public testing::TestWithParam<Adversary> {};
TEST_P(CpuHack, gets_its_verdict) {
  expect_verdict(GetParam(), "cpu:0");
}
INSTANTIATE_TEST_SUITE_P(Files, CpuHack, testing::ValuesIn(adversaries("hacks/cpu", ".cc")),
                         name_of);

class CudaHack : public testing::TestWithParam<Adversary> {
 protected:
  // What is wrong with it that can be seen without a device; empty if nothing is. `compiled` is
  // false if that was not to be found out.
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

TEST_P(CudaHack, gets_its_verdict) {
  const Adversary& adversary = GetParam();
  ASSERT_EQ(adversary.problem, "");
  if (has_gpu()) return expect_verdict(adversary, "cuda:0");
  bool compiled = false;
  std::string fault = static_fault(compiled);
  if (fault.empty() && !compiled) {
    GTEST_SKIP() << "NOT CHECKED: there is neither a GPU nor nvcc on this host";
  }
  if (adversary.found_by_device) {
    EXPECT_EQ(fault, "");
  } else if (adversary.verdict == "rejected") {
    EXPECT_NE(fault, "") << "the gates let it pass";
    EXPECT_FALSE(fault.starts_with("compile_error")) << fault;
  } else if (adversary.verdict == "compile_error") {
    EXPECT_TRUE(fault.starts_with("compile_error")) << fault;
  } else {
    EXPECT_EQ(fault, "");
  }
}
INSTANTIATE_TEST_SUITE_P(Files, CudaHack, testing::ValuesIn(adversaries("hacks/cuda", ".cu")),
                         name_of);

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
