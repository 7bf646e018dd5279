#pragma once
// Static facts about a compiled CPU program, for the profile: the compiler's remarks on
// vectorization, and the instructions of the hottest loop. The text comes from tools that read the
// candidate, so it is not trusted and everything is bounded.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct VectorRemark {
  int line = 0;
  bool vectorized = false;
  std::string text;  // the compiler's message, on one short line
};

// From g++ -fopt-info-vec-optimized-missed, or clang++ -Rpass, -Rpass-missed and -Rpass-analysis
// =loop-vectorize. One remark per line of `file_name`, in the order of lines: success first, then a
// failure with a reason. At most twenty, those about loops first.
std::vector<VectorRemark> vector_remarks(std::string_view compiler_log, std::string_view file_name);

struct InstructionMix {
  std::string where;  // "loop of 14 instructions in softmax"
  int instructions = 0;
  int vector_float = 0;  // arithmetic on several numbers at once; moves and shuffles do not count
  int scalar_float = 0;
  int fused_multiply_add = 0;  // also counted in one of the two above
  int loads = 0;               // an instruction that works on memory in place is both
  int stores = 0;
  int branches = 0;
  int calls = 0;
  std::string widest = "none";  // registers it uses: "zmm", "ymm", "xmm"; AArch64: "sve", "neon"
};

// From `objdump -d --no-show-raw-insn` (x86-64 in AT&T syntax, AArch64 roughly). The hot loop is
// the innermost one with the most vector arithmetic, else with the most float arithmetic, else the
// longest; without any loop it is all of `entry`. Other counts come from that code alone.
Result<InstructionMix> hot_loop_mix(std::string_view objdump_output, std::string_view entry);

// The output of objdump; tool_missing if it is not installed.
Task<Result<std::string>> disassemble(Processes& processes, std::string binary);

// {"vectorization": [{"line", "vectorized", "text"}], "hot_loop": {...} or null}
Json cpu_facts_json(const std::vector<VectorRemark>& remarks,
                    const std::optional<InstructionMix>& hot_loop);

}  // namespace specgen
