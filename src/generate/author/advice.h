#pragma once
// What the author says when it is asked for an opinion and not for a kernel: as a judge, as a finder of
// bottlenecks, or looking back at what an attempt has shown. One JSON object each, with the keys that
// workflows of this kind ask models for. What it recommends is named as `NAME = VALUE`, which the writer
// finds again in its advice.

#include <string>

#include "base/json.h"
#include "generate/author/author_kernel.h"

namespace specgen {

// Roles judge, bottleneck and reflexion.
Json advice_for(const Assignment& assignment);

bool gives_advice(std::string_view role);

}  // namespace specgen
