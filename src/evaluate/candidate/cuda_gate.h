#pragma once
// The static gate of CUDA candidates: the source before it is compiled, the cubin before it is
// loaded. No host code of a candidate ever runs, so what is left is reading files while compiling,
// and keeping state on the device. Pure functions, but for asking whether a header of an allowed
// folder is there.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/candidate/rejection.h"

namespace specgen {

// Includes from an allow-list or found below one of the folders, no other reading of files, at
// least one kernel and one specgen:launch line.
Accepted<void> check_cuda_source(std::string_view source,
                                 std::span<const std::string> allowed_folders);

// No writable device globals, no launches from the device, no function that is defined elsewhere.
Accepted<void> check_cubin(std::string_view elf);

struct KernelFacts {
  std::string name;                      // mangled, as the driver wants it
  std::int64_t registers = 0;            // per thread
  std::int64_t static_shared_bytes = 0;  // per block, without what the system reserves
  std::int64_t local_bytes = 0;          // stack per thread: arrays with computed indices, spills
  std::int64_t constant_bytes = 0;       // constants of its own and those of all kernels
  std::int64_t code_bytes = 0;
};
struct CubinFacts {
  std::vector<KernelFacts> kernels;
};
Accepted<CubinFacts> cubin_facts(std::string_view elf);

}  // namespace specgen
