#include "report/export/exporter.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

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
              fmt::format("--as: '{}' is no form{}", name, did_you_mean(name, names)),
              "forms are torch, cuda and cpp");
}

}  // namespace specgen
