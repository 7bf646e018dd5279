#include <fmt/chrono.h>

#include <filesystem>

#include "evaluate/cuda/toolchain.h"
#include "evaluate/host/cuda_libraries.h"

namespace specgen {
namespace fs = std::filesystem;

std::string cuda_toolkit_folder() {
  for (const std::string& toolkit : cuda_toolkit_folders()) {
    std::error_code error;
    fs::path real = fs::canonical(toolkit, error);
    if (!error && fs::exists(real / "include" / "cuda_fp16.h", error)) return real.string();
  }
  return {};
}

std::vector<std::string> cuda_include_folders() {
  std::string toolkit = cuda_toolkit_folder();
  if (toolkit.empty()) return {};
  fs::path include = fs::path(toolkit) / "include";
  std::vector<std::string> folders{include.string()};
  std::error_code ignored;
  if (fs::exists(include / "cccl", ignored)) folders.push_back((include / "cccl").string());
  return folders;
}

Finding judge_compilation(const Compilation& done, Duration limit) {
  constexpr std::size_t kMaxLines = 20;
  switch (done.end) {
    case Compilation::End::too_slow:
      return finding(Verdict::compile_error,
                     fmt::format("the compiler took longer than {}",
                                 std::chrono::duration_cast<std::chrono::seconds>(limit)));
    case Compilation::End::out_of_memory:
      return finding(Verdict::compile_error, "the compiler ran out of memory");
    case Compilation::End::crashed:
      return finding(Verdict::compile_error,
                     fmt::format("the compiler crashed on this source ({})", done.words));
    case Compilation::End::answered:
      break;
  }
  if (done.answer.ok) return {};
  Finding failed = finding(Verdict::compile_error, strip_compile_log(done.answer.log, kMaxLines));
  failed.evidence.line = first_cuda_error_line(done.answer.log);
  return failed;
}

}  // namespace specgen
