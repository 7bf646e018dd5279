#pragma once
// Compiles a CPU candidate: directives, the static gates, then g++ or clang in the sandbox.

#include <string>
#include <vector>

#include "evaluate/judge/judge_context.h"
#include "evaluate/judge/test_rig.h"

namespace specgen {

class CpuToolchain final : public Toolchain {
 public:
  explicit CpuToolchain(JudgeContext& context) : context_(context) {}
  Task<Result<Compiled>> compile(const KernelTask& task, std::string source,
                                 Values tunables) override;
  Task<Result<Compiled>> compile_baseline(const KernelTask& task) override;

 private:
  Task<Result<Compiled>> compile_as(const KernelTask& task, std::string source, Values tunables,
                                    bool trusted);
  JudgeContext& context_;
};

// The lines of a compiler's output that help a model: errors first.
std::string shortened_log(std::string_view log, std::size_t max_lines);
// Whether the compiler found the candidate's function to differ from the declared one.
bool differs_from_signature(std::string_view log);
// The line of the first error in the candidate's own text; 0 if there is none.
int first_error_line(std::string_view log, std::string_view name);

}  // namespace specgen
