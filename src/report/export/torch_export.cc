#include <fmt/format.h>

#include "base/text.h"
#include "report/export/export_parts.h"

namespace specgen {

Result<std::vector<ExportedFile>> export_torch(const ExportedKernel& kernel) {
  return kernel.backend == Backend::cpu ? export_cpp(kernel) : export_cuda(kernel);
}

std::vector<ExportedFile> export_python_module(std::string_view module, std::string_view problem,
                                               std::string_view origin) {
  return {{"model_new.py", std::string(module)},
          {"problem.py", std::string(problem)},
          {"README.md", std::string(origin)}};
}

}  // namespace specgen
