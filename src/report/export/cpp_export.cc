// A CPU kernel as a C function on threads.

#include <fmt/format.h>

#include "base/text.h"
#include "report/export/export_parts.h"

namespace specgen {
namespace {

std::string scratch_bytes(const TaskText& text, const Directives& directives) {
  if (directives.scratch.empty()) return "0";
  const ScratchSpec& spec = directives.scratch.front();
  return fmt::format("{} * {}", text.elements(spec.shape), size_of(spec.dtype));
}

// The unchanged source after the declarations that it expects.
std::string kernel_file(const KernelTask& task, std::string_view source, const Values& tunables,
                        std::string_view renamed) {
  std::string text =
      fmt::format("#define specgen_barrier {}_barrier\n#include \"specgen_kernel.h\"\n{}",
                  task.name, definitions(cpu_type(task.element), tunables));
  if (!renamed.empty()) text += fmt::format("#define {} {}\n", task.name, renamed);
  return fmt::format("{}\n{}", text, source);
}

}  // namespace

Result<KernelLibrary> cpp_library(const ExportedKernel& kernel) {
  const KernelTask& task = kernel.task;
  Directives directives = TRY(directives_of(kernel.source, "the winner"));
  Values tunables = TRY(chosen_tunables(kernel, directives));
  TaskText text(task, tunables);
  KernelLibrary library{.values = common_values(kernel, text), .files = {}};
  TemplateValues& values = library.values;
  values["scratch_bytes"] = scratch_bytes(text, directives);
  values["task_flags"] = join(task.cpu_flags, " ");
  bool needs_float16 = text.uses(Dtype::f16);
  values["compiler"] = needs_float16 ? std::string(export_template("cpp_float16_compiler")) : "";
  values["compiler_note"] = needs_float16 ? " and _Float16: clang 15, GCC 13, or later" : "";
  auto from = [&](std::string_view name) { return fill_template(export_template(name), values); };
  library.files = {{task.name + ".h", from("cpp_header")},
                   {task.name + ".cc", from("cpp_launcher")},
                   {task.name + "_kernel.cc", kernel_file(task, kernel.source, tunables, "")},
                   {"specgen_kernel.h", from("kernel.h")}};
  return library;
}

Result<std::vector<ExportedFile>> export_cpp(const ExportedKernel& kernel) {
  const KernelTask& task = kernel.task;
  Directives of_baseline = TRY(directives_of(task.baseline_cc, "baseline.cc"));
  Values baseline_tunables = tunable_values(of_baseline, {}).value_or(Values{});
  auto [values, files] = TRY(cpp_library(kernel));
  values["baseline_scratch"] = scratch_bytes(TaskText(task, baseline_tunables), of_baseline);
  const std::vector<std::string> threads{"1", "2", "3"};
  values["checks"] = check_calls(task, TRY(test_cases(task, Backend::cpu)), threads);
  values["timings"] = time_calls(TRY(timed_cases(task, Backend::cpu)), "threads");

  auto from = [&values](std::string_view name) {
    return fill_template(export_template(name), values);
  };
  files.insert(files.begin(),
               {{"README.md", from("cpp_readme")}, {"Makefile", from("cpp_makefile")}});
  files.insert(
      files.end(),
      {{"reference.cc", "#include <cmath>\n#include <cstdint>\n\n" + task.reference_source},
       {"check.h", std::string(export_template("check.h"))},
       {"test.cc", from("cpp_test")},
       {"baseline.cc",
        kernel_file(task, task.baseline_cc, baseline_tunables, task.name + "_baseline")},
       {"bench.cc", from("cpp_bench")}});
  return files;
}

}  // namespace specgen
