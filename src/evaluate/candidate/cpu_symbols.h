#pragma once
// Which runtime functions a CPU candidate may call, and the messages about others.

#include <optional>
#include <string>
#include <string_view>

namespace specgen {

bool cpu_symbol_allowed(std::string_view name);

// Why a function is not allowed. Of several the one with the lowest rank is reported.
struct SymbolLesson {
  int rank = 0;
  std::string reason;
};
SymbolLesson cpu_symbol_lesson(std::string_view name);

}  // namespace specgen
