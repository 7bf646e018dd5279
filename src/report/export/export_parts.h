#pragma once
// Shared by all forms of export: names, parameter lists, expressions in other languages, cases, templates. Private to
// this folder.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/candidate/directives.h"
#include "evaluate/task/cases.h"
#include "report/export/exporter.h"
#include "report/page_text.h"

namespace specgen {

// Names and lists of a task's function, in the order of task.toml: inputs, outputs, axes, scalars.
class TaskText {
 public:
  TaskText(const KernelTask& task, const Values& tunables);

  // The C identifier of a tensor, an axis or a scalar of the task; any other name unchanged.
  std::string identifier(std::string_view name) const;

  std::string parameters() const;       // const float* x, float* y, int64_t rows, double eps
  std::string arguments() const;        // x, y, rows, eps
  std::string tensors() const;          // x, y
  std::string axis_parameters() const;  // int64_t rows, int64_t cols
  std::string reference_parameters() const;
  // For a function with Buffer<T> objects of these names, and the axes.
  std::string call_arguments() const;
  // Statements that create those buffers, with inputs filled with data number `draw`.
  std::string make_tensors() const;
  // Statements that compute the reference and count `wrong` elements by `tolerances`.
  std::string expectations() const;

  // Integer expressions: axes by their identifiers, tunables and sizeof_T by their values.
  std::string c_expression(const Expression& expression) const;
  std::string python_expression(const Expression& expression) const;
  std::string elements(const std::vector<Expression>& shape) const;  // of a tensor, in C

  bool uses(Dtype dtype) const;

 private:
  enum class Language : std::uint8_t { c, python };
  std::string translated(const Expression& expression, Language language) const;
  std::vector<const TensorSpec*> all_tensors() const;

  const KernelTask& task_;
  Values numbers_;
  std::map<std::string, std::string, std::less<>> identifiers_;
};

std::string c_type(Dtype dtype);     // in a C header: float, uint16_t for f16 and bf16
std::string host_type(Dtype dtype);  // in check.h: float, Half, Bf16

// Cases that the reference in fp64 computes in seconds; at least one.
Result<std::vector<Case>> test_cases(const KernelTask& task, Backend backend);
Result<std::vector<Case>> timed_cases(const KernelTask& task, Backend backend);
// "check("rows=7 cols=33", 7, 33, 0, 1, (const Tolerance[]){...})", one line per case.
std::string check_calls(const KernelTask& task, std::span<const Case> cases,
                        std::span<const std::string> last_arguments);
std::string time_calls(std::span<const Case> cases, std::string_view last_argument);

std::string_view export_template(std::string_view name);
// title, name, function, summary, origin, speedup, and the lists of TaskText.
TemplateValues common_values(const ExportedKernel& kernel, const TaskText& text);
// "#define SPECGEN_DTYPE float", and the tunables.
std::string definitions(std::string_view element_type, const Values& tunables);
Result<Directives> directives_of(std::string_view source, std::string_view which);
// All tunables, with defaults for those that were not chosen. artifact_damaged for a source that does not parse.
Result<Values> chosen_tunables(const ExportedKernel& kernel, const Directives& directives);

// The kernel with its C function, which every form includes, and the values that templates need.
struct KernelLibrary {
  TemplateValues values;
  std::vector<ExportedFile> files;
};
Result<KernelLibrary> cpp_library(const ExportedKernel& kernel);
Result<KernelLibrary> cuda_library(const ExportedKernel& kernel);

std::string torch_dtype(Dtype dtype);  // "torch.float32"

Result<std::vector<ExportedFile>> export_cpp(const ExportedKernel& kernel);
Result<std::vector<ExportedFile>> export_cuda(const ExportedKernel& kernel);
Result<std::vector<ExportedFile>> export_torch(const ExportedKernel& kernel);

}  // namespace specgen
