#pragma once
// Compiles C++ to a shared object in the sandbox, through pipes: no file of it is on the host.
// Objects of the user's own sources (references, baselines) can be cached between runs.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/judge/judge_context.h"
#include "evaluate/task/dtype.h"
#include "runtime/task.h"

namespace specgen {

struct CpuObject {
  bool ok = false;
  std::string binary;
  std::string log;  // the compiler's errors or remarks
  Duration took{};
};

// The file name of CpuSource::declarations in a compiler's messages.
inline constexpr std::string_view kDeclarations = "expected signature";

struct CpuSource {
  std::string prelude;  // precedes the text and is not counted in line numbers
  std::string declarations =
      {};  // the same, after the headers; its own line numbers are of kDeclarations
  std::string text;
  std::string name = "candidate.cc";      // in messages
  std::vector<std::string> headers = {};  // that the text begins with and that can be precompiled
  std::vector<std::string> flags = {};
  bool keep = false;  // cache the object in the user's cache folder
  Duration time_limit = std::chrono::seconds(60);
};

// Key of a cached object: compiler, processor (-march=native), arguments and text.
std::string compile_identity(const std::string& compiler, const std::vector<std::string>& argv,
                             const std::string& text);

Task<Result<CpuObject>> compile_cpu(JudgeContext& context, CpuSource source);

// Declared for every candidate: fixed-width integers, specgen_bf16, specgen_barrier().
std::string_view candidate_prelude();

}  // namespace specgen
