#include "report/export/exporter.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "report/export/export_parts.h"

namespace specgen {
namespace {
constexpr std::array<std::string_view, 3> kForms{"cpp", "cuda", "torch"};
}

std::string_view to_string(ExportForm form) {
  return kForms[static_cast<std::size_t>(form)];
}

Result<ExportForm> parse_export_form(std::string_view name) {
  for (ExportForm form : {ExportForm::cpp, ExportForm::cuda, ExportForm::torch}) {
    if (name == to_string(form)) return form;
  }
  std::vector<std::string> names(kForms.begin(), kForms.end());
  return fail(ErrorCode::bad_usage,
              fmt::format("--as: unknown form '{}'{}", name, did_you_mean(name, names)),
              "forms are torch, cuda and cpp");
}

Result<std::vector<ExportedFile>> export_kernel(const ExportedKernel& kernel, ExportForm form) {
  if (form == ExportForm::torch) return export_torch(kernel);
  if (form == ExportForm::cpp && kernel.backend != Backend::cpu) {
    return fail(ErrorCode::bad_usage, "the winner is a CUDA kernel", "use --as cuda or --as torch");
  }
  if (form == ExportForm::cuda && kernel.backend != Backend::cuda) {
    return fail(ErrorCode::bad_usage, "the winner is a CPU kernel", "use --as cpp or --as torch");
  }
  return form == ExportForm::cpp ? export_cpp(kernel) : export_cuda(kernel);
}

}  // namespace specgen
