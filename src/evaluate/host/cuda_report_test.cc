#include "evaluate/host/cuda_report.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>

#include "evaluate/host/dynamic_library.h"
#include "evaluate/host/fake_tools.h"
#include "evaluate/host/internal_probe.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(CudaVersion, is_written_as_people_do) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12040), "12.4");
  EXPECT_EQ(cuda_version_text(11080), "11.8");
}

TEST(KernelDriver, version_is_found_in_both_kinds_of_module) {
  EXPECT_EQ(kernel_driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue "
                                  "Sep 2 2025\nGCC version:  gcc version 12.2.0\n"),
            "580.159.04");
  EXPECT_EQ(kernel_driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                  "570.86.15  Release Build  (dvs-builder@U22)\n"),
            "570.86.15");
  EXPECT_EQ(kernel_driver_version("nothing"), "");
}

CudaReport h200() {
  CudaReport report;
  report.driver = {.name = "libcuda",
                   .found = true,
                   .works = true,
                   .path = "/usr/lib/libcuda.so.1",
                   .version = "13.0"};
  report.gpus = {{.index = 0,
                  .name = "NVIDIA H200",
                  .capability_major = 9,
                  .capability_minor = 0,
                  .memory = GiB(139),
                  .multiprocessors = 132}};
  report.nvrtc = {.name = "libnvrtc", .found = true, .works = true, .version = "13.0"};
  report.architectures = {75, 80, 90};
  return report;
}

TEST(CudaReport, survives_the_way_from_child_to_parent) {
  CudaReport sent = h200();
  CudaReport got = cuda_report_from_json(to_json(sent));
  EXPECT_TRUE(got.driver.works);
  EXPECT_EQ(got.driver.path, sent.driver.path);
  ASSERT_EQ(got.gpus.size(), 1U);
  EXPECT_EQ(got.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(got.gpus[0].architecture(), 90);
  EXPECT_EQ(got.gpus[0].memory, GiB(139));
  EXPECT_EQ(got.gpus[0].multiprocessors, 132);
  EXPECT_EQ(got.architectures, sent.architectures);
}

TEST(CudaReport, takes_an_architecture_of_three_digits_apart) {
  CudaReport sent = h200();
  sent.gpus[0].capability_major = 12;
  sent.gpus[0].capability_minor = 1;
  CudaReport got = cuda_report_from_json(to_json(sent));
  EXPECT_EQ(got.gpus.at(0).capability_major, 12);
  EXPECT_EQ(got.gpus.at(0).capability_minor, 1);
}

TEST(CudaReport, of_nonsense_is_empty) {
  EXPECT_TRUE(cuda_report_from_json(Json("text")).gpus.empty());
  CudaReport odd = cuda_report_from_json(
      boost::json::parse(R"({"gpus": [7, {"index": "x"}], "architectures": ["a"], "driver": 3})"));
  EXPECT_EQ(odd.gpus.size(), 2U);
  EXPECT_TRUE(odd.architectures.empty());
  EXPECT_FALSE(odd.driver.works);
}

TEST(CudaReport, nvrtc_compiles_for_what_it_lists) {
  CudaReport report = h200();
  EXPECT_TRUE(compiles_for(report, report.gpus[0]));
  report.architectures = {75, 80};
  EXPECT_FALSE(compiles_for(report, report.gpus[0]));
  report.architectures = {};
  EXPECT_TRUE(compiles_for(report, report.gpus[0]));
  report.nvrtc.works = false;
  EXPECT_FALSE(compiles_for(report, report.gpus[0]));
}

class CudaProbe : public testing::Test {
 protected:
  CudaReport probe(std::string_view script, std::string what = "driver", Duration limit = 10s) {
    CudaReport report;
    fixture_.run(probe_cuda_library(fixture_.processes, {fakes_.add("self", script)},
                                    std::move(what), limit, report));
    return report;
  }
  FakeTools fakes_;
  ToolFixture fixture_;
};

TEST_F(CudaProbe, asks_the_child_for_one_library_and_takes_its_last_line) {
  CudaReport got = probe(
      "[ \"$1 $2\" = 'internal-probe driver' ] || exit 9\n"
      "echo 'a vendor says hello'\n"
      "echo '{\"driver\": {\"found\": true, \"works\": true, \"version\": \"13.0\"}, "
      "\"gpus\": [{\"name\": \"G\", \"architecture\": 90}]}'");
  EXPECT_TRUE(got.driver.works) << got.driver.problem;
  ASSERT_EQ(got.gpus.size(), 1U);
  EXPECT_EQ(got.gpus[0].capability_major, 9);
}

TEST_F(CudaProbe, a_crash_is_a_finding) {
  CudaReport got = probe("kill -SEGV $$", "nvml");
  EXPECT_TRUE(got.nvml.found);
  EXPECT_FALSE(got.nvml.works);
  EXPECT_TRUE(got.nvml.problem.starts_with("crashes: signal 11")) << got.nvml.problem;
  EXPECT_EQ(got.driver.problem, "");
}

TEST_F(CudaProbe, a_hang_is_a_finding) {
  CudaReport got = probe("sleep 100", "nvrtc", 200ms);
  EXPECT_FALSE(got.nvrtc.works);
  EXPECT_EQ(got.nvrtc.problem, "hangs: no answer within 200 ms");
}

TEST_F(CudaProbe, an_exit_without_an_answer_is_a_finding) {
  EXPECT_EQ(probe("exit 3", "cupti").cupti.problem, "ends the process that calls it: exit code 3");
}

TEST(InternalProbe, knows_its_names) {
  auto answer = answer_internal_probe("nothing");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::unknown_name);
}

TEST(DynamicLibrary, loads_the_first_candidate_that_is_there) {
  std::array<std::string, 3> names{"/nowhere/libm.so.6", "libno-such-library.so.1", "libm.so.6"};
  auto library = DynamicLibrary::open(names);
  ASSERT_TRUE(library.has_value());
  EXPECT_NE(library->path().string().find("libm.so.6"), std::string::npos);
  auto* square_root = library->function<double(double)>("sqrt");
  ASSERT_NE(square_root, nullptr);
  EXPECT_EQ(square_root(9.0), 3.0);
  EXPECT_EQ(library->function<void()>("no_such_function"), nullptr);
}

TEST(DynamicLibrary, distinguishes_absent_from_broken) {
  std::array<std::string, 2> absent{"libno-such-library.so.1", "/nowhere/lib.so"};
  auto none = DynamicLibrary::open(absent);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::tool_missing);

  FakeTools files;
  std::array<std::string, 1> broken{files.add("libbroken.so", "not a library")};
  auto bad = DynamicLibrary::open(broken);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::system_call);
  EXPECT_NE(bad.error().context.find("libbroken.so"), std::string::npos) << bad.error().context;
}

}  // namespace
}  // namespace specgen
