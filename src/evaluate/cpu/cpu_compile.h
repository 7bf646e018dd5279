#pragma once
// C++ to a shared object, in the sandbox, through pipes: nothing of it ever lies in a folder of the
// host. What the user wrote himself (references, baselines) may be kept from run to run.

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
  std::string log;  // what the compiler said: errors, or remarks on its work
  Duration took{};
};

// The file name of CpuSource::declarations in a compiler's messages.
inline constexpr std::string_view kDeclarations = "expected signature";

struct CpuSource {
  std::string prelude;  // before the text and not counted in its line numbers
  std::string declarations =
      {};  // the same, after the headers; its own line numbers are of kDeclarations
  std::string text;
  std::string name = "candidate.cc";      // in messages
  std::vector<std::string> headers = {};  // that the text opens with and may be parsed ahead
  std::vector<std::string> flags = {};
  bool keep = false;  // take it from the user's cache folder, and put it there
  Duration time_limit = std::chrono::seconds(60);
};

// The same words with the same program on the same processor (-march=native) give the same object.
std::string compile_identity(const std::string& compiler, const std::vector<std::string>& argv,
                             const std::string& text);

Task<Result<CpuObject>> compile_cpu(JudgeContext& context, CpuSource source);

// What every candidate finds declared: fixed-width integers, specgen_bf16, specgen_barrier().
std::string_view candidate_prelude();

}  // namespace specgen
