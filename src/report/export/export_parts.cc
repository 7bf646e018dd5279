#include "report/export/export_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "evaluate/judge/compare.h"

namespace specgen {

// Generated from templates/.
std::span<const std::pair<std::string_view, std::string_view>> embedded_export_templates();

namespace {

// Some seconds of a naive reference.
constexpr double kMaxFlops = 1e9;
constexpr Bytes kMaxMemory = MiB(256);

std::string case_arguments(const Case& at) {
  std::vector<std::string> all{fmt::format("\"{}\"", at.title())};
  for (const std::string& axis : at.axis_order) all.push_back(fmt::format("{}", at.axes.at(axis)));
  all.push_back(fmt::format("{}", at.draw));
  return join(all, ", ");
}

}  // namespace

std::string_view export_template(std::string_view name) {
  for (const auto& [path, text] : embedded_export_templates()) {
    if (path == fmt::format("{}.txt", name)) return text;
  }
  SG_PANIC("unknown template");
}

Result<std::vector<Case>> test_cases(const KernelTask& task, Backend backend) {
  std::vector<Case> all = TRY(public_cases(task, backend));
  std::vector<Case> small;
  for (const Case& at : all) {
    if (at.min_flops <= kMaxFlops && at.footprint() <= kMaxMemory) small.push_back(at);
  }
  if (small.empty()) small.push_back(*std::ranges::min_element(all, {}, &Case::min_flops));
  return small;
}

Result<std::vector<Case>> timed_cases(const KernelTask& task, Backend backend) {
  std::vector<Case> all = TRY(public_cases(task, backend));
  std::erase_if(all, [](const Case& at) { return at.weight <= 0; });
  return all;
}

std::string check_calls(const KernelTask& task, std::span<const Case> cases,
                        std::span<const std::string> last_arguments) {
  std::string text;
  for (const Case& at : cases) {
    std::vector<std::string> tolerances;
    for (const Tensor& output : at.outputs) {
      Bounds bounds = bounds_of(tolerance_of(task.check, at, output.dtype), output.dtype);
      tolerances.push_back(fmt::format("{{{:.9g}, {:.9g}, {:.9g}}}", bounds.scale_factor,
                                       bounds.value_factor, bounds.floor));
    }
    text +=
        fmt::format("  {{\n    const Tolerance tolerances[] = {{{}}};\n", join(tolerances, ", "));
    for (const std::string& last : last_arguments) {
      text += fmt::format("    failures += check({}, {}{}tolerances);\n", case_arguments(at), last,
                          last.empty() ? "" : ", ");
    }
    text += "  }\n";
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string time_calls(std::span<const Case> cases, std::string_view last_argument) {
  std::string text;
  for (const Case& at : cases) {
    text += fmt::format("  time_case({}{}{});\n", case_arguments(at),
                        last_argument.empty() ? "" : ", ", last_argument);
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

TemplateValues common_values(const ExportedKernel& kernel, const TaskText& text) {
  const KernelTask& task = kernel.task;
  std::string guard = task.name + "_H";
  std::ranges::transform(guard, guard.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return {{"title", task.title()},
          {"name", task.name},
          {"kernel", task.name},
          {"function", "run_" + task.name},
          {"summary", task.summary},
          {"origin", kernel.origin.empty() ? "A kernel" : "From " + kernel.origin},
          {"speedup", fmt::format("{:.3g} times", kernel.speedup.median)},
          {"guard", guard},
          {"parameters", text.parameters()},
          {"arguments", text.arguments()},
          {"tensors", text.tensors()},
          {"axis_parameters", text.axis_parameters()},
          {"reference_parameters", text.reference_parameters()},
          {"call_arguments", text.call_arguments()},
          {"make_tensors", text.make_tensors()},
          {"expect", text.expectations()}};
}

std::string definitions(std::string_view element_type, const Values& tunables) {
  std::string text = fmt::format("#define SPECGEN_DTYPE {}\n", element_type);
  for (const auto& [name, value] : tunables) text += fmt::format("#define {} {}\n", name, value);
  return text;
}

Result<Directives> directives_of(std::string_view source, std::string_view which) {
  auto directives = parse_directives(source);
  if (directives) return std::move(*directives);
  return fail(
      ErrorCode::artifact_damaged,
      fmt::format("{}, line {}: {}", which, directives.error().line, directives.error().reason));
}

Result<Values> chosen_tunables(const ExportedKernel& kernel, const Directives& directives) {
  auto values = tunable_values(directives, kernel.tunables);
  if (!values)
    return fail(ErrorCode::artifact_damaged, "the winner's tunables: " + values.error().reason);
  return *values;
}

}  // namespace specgen
