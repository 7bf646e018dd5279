#pragma once
// Which functions of the runtime a CPU candidate may call, and what is said of the others.

#include <optional>
#include <string>
#include <string_view>

namespace specgen {

bool cpu_symbol_allowed(std::string_view name);

// Why not, for the names that have a lesson in them; lower ranks are told first.
struct SymbolLesson {
  int rank = 0;
  std::string reason;
};
SymbolLesson cpu_symbol_lesson(std::string_view name);

}  // namespace specgen
