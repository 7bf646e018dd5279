#pragma once
// What a kernel's machine code consists of, counted in a disassembly: how wide its loads and stores
// are, whether it uses the matrix units, whether it spills. Counts are of instructions in the code,
// not of executions.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace specgen {

struct SassMix {
  std::string function;               // mangled
  std::map<std::string, int> counts;  // "LDG.128", "FFMA", "HMMA", "BAR", "LDL"...
  int instructions = 0;
};

// Of the text that `cuobjdump -sass` prints, or `nvdisasm -c`. Unknown text gives nothing.
std::vector<SassMix> read_sass(std::string_view listing);
Json to_json(const SassMix& mix);

// One or two remarks for the one who wrote it: narrow loads, spills. Empty if there is nothing.
std::string remarks_on(const SassMix& mix);

}  // namespace specgen
