#pragma once
// Some standard headers take a compiler longer than any kernel: <immintrin.h> a third of a second.
// Those that a candidate begins with are therefore precompiled once and cached in the user's cache
// folder, with g++ only. The object is the same: a candidate gets the headers that it includes
// itself, before any line of its own could change their meaning.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/judge/judge_context.h"
#include "runtime/task.h"

namespace specgen {

// The slow headers that are included before anything but comments, in a fixed order, so that
// sources with the same headers share one precompiled file.
std::vector<std::string> slow_headers(std::string_view source);

struct PrecompiledHeader {
  std::filesystem::path folder;  // must be visible to the compiler
  std::filesystem::path header;  // for -include
};

// `text` precompiled with `flags`, which must be those of the source that includes it. Nothing if
// it cannot be precompiled: compile without it.
Task<std::optional<PrecompiledHeader>> precompile(JudgeContext& context, std::string text,
                                                  std::vector<std::string> flags);

}  // namespace specgen
