#pragma once
// A few standard headers take a compiler longer than any kernel does: <immintrin.h> a third of a
// second. What a candidate opens with is therefore parsed once and kept in the user's cache folder,
// for g++ alone. Nothing else changes: a candidate gets the headers that it names itself, before any
// line of its own could change what they mean, and the same object comes out.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/judge/judge_context.h"
#include "runtime/task.h"

namespace specgen {

// The slow ones among the headers that stand before everything else but comments, in an order of
// ours: who names the same ones shares what was parsed.
std::vector<std::string> slow_headers(std::string_view source);

struct PrecompiledHeader {
  std::filesystem::path folder;  // to be seen by the compiler
  std::filesystem::path header;  // for -include
};

// `text` precompiled with `flags`, which are those of what will include it; made if it is not kept.
// Nothing where that cannot be: then do without.
Task<std::optional<PrecompiledHeader>> precompile(JudgeContext& context, std::string text,
                                                  std::vector<std::string> flags);

}  // namespace specgen
