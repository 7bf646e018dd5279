#pragma once
// The version of both programs, from the project's CMakeLists.txt.

#include <string_view>

namespace specgen {

std::string_view version();  // "0.1.0"

}  // namespace specgen
