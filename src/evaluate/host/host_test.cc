#include "evaluate/host/host.h"

#include <gtest/gtest.h>

#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

HostReport gpu_host() {
  HostReport host;
  host.cuda.driver.works = true;
  host.cuda.gpus = {{.name = "NVIDIA H200", .capability_major = 9}};
  host.cuda.nvrtc.works = true;
  host.cuda.architectures = {80, 90};
  return host;
}

TEST(Ready, needs_driver_gpu_and_an_nvrtc_that_knows_it) {
  EXPECT_TRUE(ready(gpu_host()).cuda);
  HostReport host = gpu_host();
  host.cuda.gpus.clear();
  EXPECT_FALSE(ready(host).cuda);
  host = gpu_host();
  host.cuda.nvrtc.works = false;
  EXPECT_FALSE(ready(host).cuda);
  host = gpu_host();
  host.cuda.architectures = {80};
  EXPECT_FALSE(ready(host).cuda);
  host = gpu_host();
  host.cuda.driver.works = false;
  EXPECT_FALSE(ready(host).cuda);
  EXPECT_FALSE(ready(host).any());
}

TEST(Ready, for_cpu_takes_one_compiler_that_works) {
  HostReport host;
  host.tools.compilers = {{.name = "g++", .found = true}, {.name = "clang++"}};
  EXPECT_FALSE(ready(host).cpu);
  host.tools.compilers[1].works = true;
  EXPECT_TRUE(ready(host).cpu);
}

TEST(Ready, for_pytorch_takes_a_backend_as_well) {
  HostReport host;
  host.tools.torch.works = true;
  EXPECT_FALSE(ready(host).pytorch);
  host.tools.compilers = {{.name = "g++", .works = true}};
  EXPECT_TRUE(ready(host).pytorch);
}

TEST(Machine, reads_the_tables_of_the_kernel) {
  EXPECT_EQ(meminfo_entry("MemTotal:       24682416 kB\nMemFree:  1 kB\n", "MemTotal"),
            KiB(24682416));
  EXPECT_EQ(meminfo_entry("MemFree:  1 kB\n", "Mem"), Bytes{0});
  EXPECT_EQ(cpu_model("processor\t: 0\nmodel\t\t: 106\nmodel name\t: Xeon @ 2.80GHz\n"),
            "Xeon @ 2.80GHz");
  EXPECT_EQ(cpu_model("Features: fp asimd\n"), "");
}

TEST(Machine, measures_the_disk_under_a_folder_that_is_not_there_yet) {
  FakeTools folder;
  Machine machine = look_at_machine(folder.path() / "not" / "yet");
  EXPECT_EQ(machine.disk_problem, "");
  EXPECT_GT(machine.disk_free.count, 0U);
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory.count, 0U);
}

TEST(Machine, says_when_a_file_is_in_the_way_of_the_runs) {
  FakeTools folder;
  std::string file = folder.add("runs", "");
  EXPECT_EQ(look_at_machine(file).disk_problem, file + " is not a folder");
}

class HostProbeTest : public testing::Test {
 protected:
  // Nothing of the real host is called: no compiler, no Python, and a self that knows no answer.
  HostProbe nothing() {
    HostProbe probe;
    probe.compilers = {"/nowhere/g++"};
    probe.python = "/nowhere/python3";
    probe.ncu = "/nowhere/ncu";
    probe.self = fakes_.add("self", "exit 1");
    probe.runs_folder = fakes_.path();
    return probe;
  }
  FakeTools fakes_;
  ToolFixture fixture_;
};

TEST_F(HostProbeTest, of_a_host_with_nothing_ends_and_is_not_ready) {
  auto host = fixture_.run(probe_host(fixture_.loop, fixture_.processes, nothing()));
  ASSERT_TRUE(host.has_value());
  EXPECT_FALSE(ready(*host).any());
  EXPECT_FALSE(host->tools.compilers.at(0).found);
  EXPECT_EQ(host->tools.torch.problem, "needs Python");
  EXPECT_FALSE(host->sandbox.own_uid.works);
}

TEST_F(HostProbeTest, cuts_hanging_tools_side_by_side) {
  HostProbe probe = nothing();
  probe.time_limit = 300ms;
  std::string hangs = fakes_.add("hangs", "sleep 100");
  probe.compilers = {hangs, hangs};
  probe.python = probe.ncu = probe.self = hangs;
  Time start = fixture_.loop.now();
  auto host = fixture_.run(probe_host(fixture_.loop, fixture_.processes, probe));
  ASSERT_TRUE(host.has_value());
  EXPECT_LT(fixture_.loop.now() - start, 10s);
  for (const Component* each :
       {&host->tools.compilers[0], &host->tools.compilers[1], &host->tools.python,
        &host->tools.torch, &host->tools.ncu, &host->cuda.driver, &host->sandbox.own_uid}) {
    EXPECT_FALSE(each->works);
    EXPECT_TRUE(each->problem.ends_with("no answer within 300 ms"))
        << each->name << ": " << each->problem;
  }
}

TEST_F(HostProbeTest, limits_the_steps_of_one_probe_together) {
  HostProbe probe = nothing();
  probe.time_limit = 400ms;
  probe.compilers = {fakes_.add("slow++", "sleep 0.3; echo '1.2.3'")};  // twice: version, compile
  auto host = fixture_.run(probe_host(fixture_.loop, fixture_.processes, probe));
  ASSERT_TRUE(host.has_value());
  EXPECT_FALSE(host->tools.compilers[0].works);
  EXPECT_EQ(host->tools.compilers[0].problem, "no answer within 400 ms");
}

TEST_F(HostProbeTest, says_whose_answers_are_awaited) {
  HostProbe probe = nothing();
  std::vector<std::size_t> awaited;
  std::size_t whole = 0;
  probe.on_progress = [&](std::span<const std::string> names, std::size_t total) {
    awaited.push_back(names.size());
    whole = total;
  };
  ASSERT_TRUE(fixture_.run(probe_host(fixture_.loop, fixture_.processes, probe)).has_value());
  ASSERT_EQ(awaited.size(), whole + 1);
  EXPECT_EQ(awaited.front(), whole);
  EXPECT_EQ(awaited.back(), 0U);
}

}  // namespace
}  // namespace specgen
