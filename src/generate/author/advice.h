#pragma once
// The author's answer to roles that give advice instead of a kernel: judge, bottleneck analysis, reflexion on an
// attempt. One JSON object each, with the keys that such workflows request. Recommendations are written as
// `NAME = VALUE`, which the writer role reads back from its advice. Pure functions.

#include <string>

#include "base/json.h"
#include "generate/author/author_kernel.h"

namespace specgen {

// Roles judge, bottleneck and reflexion.
Json advice_for(const Assignment& assignment);

bool gives_advice(std::string_view role);

}  // namespace specgen
