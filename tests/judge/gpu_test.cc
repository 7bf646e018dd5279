// Requirements on a host with a GPU. Run by scripts/gpu, not by `make test`.

#include <gtest/gtest.h>

#include "base/text.h"
#include "evaluate/host/cuda_libraries.h"
#include "runtime/subprocess.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(Gpu, the_driver_agrees_with_nvidia_smi) {
  CudaReport report;
  try_driver(report);
  ASSERT_TRUE(report.driver.works) << report.driver.problem;
  ASSERT_FALSE(report.gpus.empty());
  RealDriver driver(1);
  Loop loop(driver);
  Processes processes(loop, driver);
  auto smi =
      loop.run(processes.run({.argv = {"nvidia-smi", "--query-gpu=name,compute_cap,memory.total",
                                       "--format=csv,noheader,nounits"},
                              .time_limit = 30s}));
  ASSERT_TRUE(smi) << smi.error().text();
  ASSERT_TRUE(smi->exit.ok()) << smi->error_output;
  std::vector<std::string_view> fields = split(first_line(smi->output), ',');
  ASSERT_EQ(fields.size(), 3U) << smi->output;
  const Gpu& gpu = report.gpus[0];
  EXPECT_EQ(gpu.name, trim(fields[0]));
  EXPECT_EQ(std::to_string(gpu.capability_major) + "." + std::to_string(gpu.capability_minor),
            trim(fields[1]));
  double total_mib = std::stod(std::string(fields[2]));
  double seen_mib = static_cast<double>(gpu.memory.count) / 1048576.0;
  EXPECT_GT(seen_mib, 0.9 * total_mib);  // the driver keeps some for itself
  EXPECT_LE(seen_mib, total_mib);
  EXPECT_GT(gpu.multiprocessors, 0);
}

TEST(Gpu, nvrtc_compiles_for_this_gpu) {
  CudaReport report;
  try_driver(report);
  try_nvrtc(report);
  ASSERT_TRUE(report.nvrtc.works) << report.nvrtc.problem;
  ASSERT_FALSE(report.gpus.empty());
  EXPECT_TRUE(compiles_for(report, report.gpus[0]));
}

TEST(Gpu, management_and_profiling_libraries_answer) {
  CudaReport report;
  try_nvml(report);
  try_cupti(report);
  EXPECT_TRUE(report.nvml.works) << report.nvml.problem;
  EXPECT_TRUE(report.cupti.works) << report.cupti.problem;
}

}  // namespace
}  // namespace specgen
