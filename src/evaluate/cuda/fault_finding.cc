#include "evaluate/cuda/fault_finding.h"

#include <fmt/core.h>

#include "evaluate/cuda/driver_api.h"

namespace specgen {
namespace {

struct Known {
  int code;
  Verdict verdict;
  std::string_view text;
};

// Errors of a running kernel. All others come from the launch itself.
constexpr std::array kKnown{
    Known{kCudaIllegalAddress, Verdict::out_of_bounds,
          "a kernel touched memory outside of its tensors and scratch"},
    Known{kCudaMisalignedAddress, Verdict::crash,
          "a load or store is not aligned to its width: an address that is not a multiple of 16 "
          "for a "
          "float4, say"},
    Known{kCudaInvalidAddressSpace, Verdict::crash,
          "an instruction for one kind of memory (global, shared, local) was given an address of "
          "another"},
    Known{kCudaIllegalInstruction, Verdict::crash, "a kernel ran into an illegal instruction"},
    Known{kCudaInvalidProgramCounter, Verdict::crash, "a kernel jumped to an address without code"},
    Known{kCudaHardwareStackError, Verdict::crash,
          "a kernel corrupted its call stack: endless recursion, or a write past a local array"},
    Known{kCudaAssert, Verdict::crash, "a device-side assert failed"},
    Known{kCudaLaunchFailed, Verdict::crash,
          "a kernel failed: shared memory out of its range, or a trap"},
    Known{kCudaTensorMemoryLeak, Verdict::crash, "a kernel ended without freeing tensor memory"},
    Known{kCudaLaunchTimeout, Verdict::timeout, "the driver ended a kernel that ran too long"},
    Known{kCudaOutOfMemory, Verdict::out_of_memory,
          "the device has no memory left for the kernels' stacks and local arrays"},
};

}  // namespace

Finding finding_of(const ExecutorAnswer& answer, const Directives& directives) {
  if (answer.ok) return {};
  int line = 0;
  if (answer.launch >= 0 && static_cast<std::size_t>(answer.launch) < directives.launches.size()) {
    line = directives.launches[static_cast<std::size_t>(answer.launch)].line;
  }
  auto at_line = [&](Verdict verdict, std::string text, int its_line) {
    return Finding{.verdict = verdict, .evidence = {.text = std::move(text), .line = its_line}};
  };
  if (!answer.rejected.empty()) return at_line(Verdict::rejected, answer.rejected, line);
  const DriverFault& fault = answer.fault;
  for (const Known& known : kKnown) {
    if (fault.code != known.code) continue;
    // The launch at fault is unknown: the error is reported by the next one.
    return at_line(known.verdict, fmt::format("{} ({})", known.text, fault.name), 0);
  }
  if (fault.code != 0 && answer.launch >= 0) return at_line(Verdict::rejected, fault.text(), line);
  if (fault.code != 0) return at_line(Verdict::crash, fault.text(), 0);
  return at_line(Verdict::harness_error, answer.problem(), 0);
}

}  // namespace specgen
