#pragma once
// Parses one line of a disassembly as far as an instruction mix needs it.

#include <cstdint>
#include <optional>
#include <string_view>

namespace specgen {

enum class Processor : std::uint8_t { x86_64, aarch64 };

struct Instruction {
  std::uint64_t address = 0;
  bool vector_float = false;
  bool scalar_float = false;
  bool fused = false;
  bool load = false;
  bool store = false;
  bool branch = false;
  bool ends =
      false;  // execution never continues with the next one: an unconditional jump, a return
  bool call = false;
  int width = 0;      // of the widest vector register it names: 16, 32, 64 bytes; scalable: 1
  bool neon = false;  // of AArch64's fixed size
  std::optional<std::uint64_t> target = {};  // of a direct branch
};

// "    11b5:\tvfmadd213ps (%rsi,%rax,1),%ymm1,%ymm0"; nothing if it is not an instruction.
std::optional<Instruction> parse_instruction(std::string_view line, Processor processor);

}  // namespace specgen
