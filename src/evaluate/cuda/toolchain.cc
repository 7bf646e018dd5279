#include "evaluate/cuda/toolchain.h"

#include <fmt/chrono.h>

#include <filesystem>

#include "base/text.h"
#include "evaluate/candidate/cuda_gate.h"
#include "evaluate/candidate/launch_plan.h"
#include "evaluate/host/cuda_libraries.h"
#include "evaluate/task/dtype.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Duration kCompileLimit = std::chrono::seconds(30);

Compiled rejected(const Rejection& why) {
  return {
      .finding = {.verdict = Verdict::rejected, .evidence = {.text = why.reason, .line = why.line}},
      .program = {}};
}

// The toolkit and the folders must be visible in the sandbox. What is below /usr always is. Paths
// are canonical, because links to hidden folders do not exist inside.
CompilePoolSettings with_visible(CompilePoolSettings settings, std::vector<std::string> folders) {
  std::string toolkit = cuda_toolkit_folder();
  if (!toolkit.empty()) {
    folders.push_back(toolkit);
    settings.environment.push_back("CUDA_HOME=" + toolkit);
  }
  for (const std::string& folder : folders) {
    if (!folder.starts_with("/usr/")) settings.visible.emplace_back(folder);
  }
  settings.time_limit = kCompileLimit;
  return settings;
}

std::vector<std::string> real_paths(std::vector<std::string> folders) {
  for (std::string& folder : folders) {
    std::error_code error;
    auto real = std::filesystem::canonical(folder, error);
    if (!error) folder = real.string();
  }
  return folders;
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

CudaToolchain::CudaToolchain(CompilePoolSettings settings, std::vector<std::string> allowed_folders)
    : architecture_(settings.architecture),
      allowed_folders_(real_paths(std::move(allowed_folders))),
      include_folders_(joined(cuda_include_folders(), allowed_folders_)),
      pool_(with_visible(std::move(settings), allowed_folders_)) {}

Task<Result<Compiled>> CudaToolchain::compile(const KernelTask& task, std::string source,
                                              Values tunables) {
  auto directives = parse_directives(source);
  if (!directives) co_return rejected(directives.error());
  if (directives->launches.empty()) {
    co_return rejected({.reason = "there is no `// specgen:launch kernel<<<grid, block>>>(...)` "
                                  "line, so no kernel would run"});
  }
  auto values = tunable_values(*directives, tunables);
  if (!values) co_return rejected(values.error());
  if (auto passed = check_cuda_source(source, allowed_folders_); !passed) {
    co_return rejected(passed.error());
  }
  auto names = name_expressions(*directives, *values);
  if (!names) co_return rejected(names.error());

  CompileRequest request{.source = source,
                         .architecture = architecture_,
                         .defines = {{"SPECGEN_DTYPE", std::string(cuda_type(task.element))}},
                         .name_expressions = std::move(*names),
                         .include_folders = include_folders_};
  for (const auto& [name, value] : *values) request.defines[name] = std::to_string(value);
  Compilation done = CO_TRY(co_await pool_.compile(std::move(request)));
  Compiled compiled{
      .finding = judge_compilation(done, kCompileLimit), .program = {}, .took = done.took};
  if (!compiled.finding.ok()) co_return compiled;
  if (auto passed = check_cubin(done.answer.cubin); !passed) {
    compiled.finding = rejected(passed.error()).finding;
    co_return compiled;
  }
  compiled.program = {.source = std::move(source),
                      .directives = std::move(*directives),
                      .tunables = std::move(*values),
                      .binary = std::move(done.answer.cubin),
                      .lowered_names = std::move(done.answer.lowered_names),
                      .remarks = strip_compile_log(done.answer.log, 200)};
  co_return compiled;
}

Task<Result<Compiled>> CudaToolchain::compile_baseline(const KernelTask& task) {
  return compile(task, task.baseline_cu, {});
}

Task<Result<std::string>> CudaToolchain::compile_ours(std::string_view source) {
  Compilation done = CO_TRY(
      co_await pool_.compile({.source = std::string(source), .architecture = architecture_}));
  Finding found = judge_compilation(done, kCompileLimit);
  if (!found.ok()) {
    co_return fail(ErrorCode::harness_failed,
                   "a kernel of the judge does not compile: " + found.evidence.text);
  }
  co_return std::move(done.answer.cubin);
}

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
                     fmt::format("the compiler crashed on this source ({})", done.report));
    case Compilation::End::answered:
      break;
  }
  if (done.answer.ok) return {};
  Finding failed = finding(Verdict::compile_error, strip_compile_log(done.answer.log, kMaxLines));
  failed.evidence.line = first_cuda_error_line(done.answer.log);
  return failed;
}

}  // namespace specgen
