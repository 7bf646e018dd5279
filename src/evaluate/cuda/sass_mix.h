#pragma once
// The instructions of a kernel, counted in a disassembly: the width of its loads and stores,
// whether it uses the matrix units, whether it spills. Counts instructions in the code, not
// executions.

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

// From the output of `cuobjdump -sass` or `nvdisasm -c`. Empty for unknown text.
std::vector<SassMix> read_sass(std::string_view listing);
Json to_json(const SassMix& mix);

// One or two remarks for its author: narrow loads, spills. Empty if there are none.
std::string remarks_on(const SassMix& mix);

}  // namespace specgen
