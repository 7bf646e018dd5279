// Any bytes as a shared object and as a cubin: refused or accepted, never a crash.

#include <cstdint>

#include "evaluate/candidate/cpu_gate.h"
#include "evaluate/candidate/cuda_gate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view elf(reinterpret_cast<const char*>(data), size);
  (void)specgen::check_cpu_binary(elf, "softmax");
  (void)specgen::check_cubin(elf);
  (void)specgen::cubin_facts(elf);
  return 0;
}
