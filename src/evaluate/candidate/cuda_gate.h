#pragma once
// The static checks of CUDA candidates: of the source before it is compiled and of the cubin before it is
// loaded. No host
// code of a candidate ever runs, so what is left to refuse is reading files at compile time and state on the device.
// Pure functions, except that they look up headers in the allowed folders.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/candidate/rejection.h"

namespace specgen {

// Only includes from an allow-list or from one of the folders, no other way to read files, at least one kernel and one
// specgen:launch line.
Accepted<void> check_cuda_source(std::string_view source,
                                 std::span<const std::string> allowed_folders);

// No writable device globals, no launches from the device, no function that is defined elsewhere.
Accepted<void> check_cubin(std::string_view elf);

struct KernelFacts {
  std::string name;                      // mangled, for the driver
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
