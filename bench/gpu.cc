// The cost of querying a GPU host. Run by scripts/gpu.

#include <fmt/format.h>

#include "evaluate/host/cuda_libraries.h"
#include "figures.h"

namespace specgen {

void bench_gpu() {
  heading("GPU host");
  CudaReport report;
  Stopwatch driver;
  try_driver(report);
  note("libcuda: load, cuInit, list devices", fmt::format("{:.0f} ms", 1e3 * driver.seconds()));
  Stopwatch first;
  try_nvrtc(report);
  note("NVRTC: load and compile one kernel to cubin",
       fmt::format("{:.0f} ms", 1e3 * first.seconds()));
  Stopwatch next;
  try_nvrtc(report);
  note("NVRTC: the same again in this process", fmt::format("{:.0f} ms", 1e3 * next.seconds()));
  for (const Component* part : {&report.driver, &report.nvrtc}) {
    if (!part->works) note("  did not work: " + part->name, part->problem);
  }
}

}  // namespace specgen
