// A CUDA kernel as a C function on a stream: the launcher is generated from the specgen: lines.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "evaluate/candidate/launch_plan.h"
#include "report/export/export_parts.h"

namespace specgen {
namespace {

std::string tensormap_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return "FLOAT64";
    case Dtype::f32:
      return "FLOAT32";
    case Dtype::f16:
      return "FLOAT16";
    case Dtype::bf16:
      return "BFLOAT16";
    case Dtype::i64:
      return "INT64";
    case Dtype::i32:
      return "INT32";
    default:
      return "UINT8";
  }
}

// The launcher of one source: the winner's, or the baseline's.
class Launcher {
 public:
  Launcher(const KernelTask& task, const TaskText& text, const Directives& directives,
           const Values& tunables)
      : task_(task), text_(text), directives_(directives), tunables_(tunables) {}

  Result<std::string> file(TemplateValues values, const std::string& function,
                           const std::string& kernel_file) const {
    values["function"] = function;
    values["file"] = kernel_file;
    values["definitions"] = definitions(cuda_type(task_.element), tunables_);
    values["undefinitions"] = undefinitions();
    values["tensormap_helper"] =
        directives_.tensormaps.empty() ? "" : std::string(export_template("cuda_tensormap"));
    values["scratch_total"] = scratch_total();
    values["scratch_pointers"] = scratch_pointers();
    values["unused_axes"] = unused(task_.axes);
    values["unused_parameters"] = unused(task_.scalars);
    values["zeros"] = zeros();
    values["tensormaps"] = tensormaps();
    values["launches"] = TRY(launches());
    return fill_template(export_template("cuda_launcher"), values);
  }

 private:
  const TensorSpec* tensor_named(std::string_view name) const {
    for (const auto* tensors : {&task_.inputs, &task_.outputs}) {
      auto found = std::ranges::find(*tensors, name, &TensorSpec::name);
      if (found != tensors->end()) return &*found;
    }
    return nullptr;
  }
  const ScratchSpec* scratch_named(std::string_view name) const {
    auto found = std::ranges::find(directives_.scratch, name, &ScratchSpec::name);
    return found == directives_.scratch.end() ? nullptr : &*found;
  }

  // After the kernels tunables have been replaced by values, and a parameter may have the name of one.
  std::string undefinitions() const {
    std::string text;
    for (const auto& [name, value] : tunables_) text += fmt::format("#undef {}\n", name);
    return text;
  }

  template <class Specs>
  std::string unused(const Specs& specs) const {
    std::string text;
    for (const auto& spec : specs)
      text += fmt::format("  (void){};\n", text_.identifier(spec.name));
    return text;
  }

  std::string bytes_of(const std::vector<Expression>& shape, Dtype dtype) const {
    return fmt::format("{} * {}", text_.elements(shape), size_of(dtype));
  }

  std::string scratch_total() const {
    if (directives_.scratch.empty()) return "0";
    std::vector<std::string> all;
    for (const ScratchSpec& spec : directives_.scratch) {
      all.push_back(fmt::format("rounded({})", bytes_of(spec.shape, spec.dtype)));
    }
    return join(all, " + ");
  }

  static std::string scratch_identifier(const ScratchSpec& spec) { return "scratch_" + spec.name; }

  std::string scratch_pointers() const {
    std::string text;
    if (!directives_.scratch.empty())
      text = "  char* next_scratch = static_cast<char*>(scratch);\n";
    for (const ScratchSpec& spec : directives_.scratch) {
      text += fmt::format("  void* const {} = next_scratch;\n  next_scratch += rounded({});\n",
                          scratch_identifier(spec), bytes_of(spec.shape, spec.dtype));
    }
    return text;
  }

  std::string zeros() const {
    std::string text;
    auto add = [&](const std::string& pointer, const std::string& bytes) {
      text += fmt::format(
          "  if (error == cudaSuccess) {{\n    error = cudaMemsetAsync({}, 0, "
          "static_cast<size_t>({}), stream);\n  }}\n",
          pointer, bytes);
    };
    for (const ZeroedOutput& zero : directives_.zeroed_outputs) {
      if (const TensorSpec* tensor = tensor_named(zero.name)) {
        add(text_.identifier(zero.name), bytes_of(tensor->shape, tensor->dtype));
      }
    }
    for (const ScratchSpec& spec : directives_.scratch) {
      if (spec.zeroed) add(scratch_identifier(spec), bytes_of(spec.shape, spec.dtype));
    }
    return text;
  }

  std::string tensormaps() const {
    std::string text;
    for (const TensormapSpec& map : directives_.tensormaps) {
      const TensorSpec* tensor = tensor_named(map.tensor);
      const ScratchSpec* scratch = scratch_named(map.tensor);
      if (!tensor && !scratch) continue;  // refused earlier by resolve()
      const std::vector<Expression>& shape = tensor ? tensor->shape : scratch->shape;
      Dtype dtype = tensor ? tensor->dtype : scratch->dtype;
      auto innermost_first = [&](const std::vector<Expression>& lengths) {
        std::vector<std::string> all;
        for (const Expression& length : lengths) all.push_back(text_.c_expression(length));
        std::ranges::reverse(all);
        return join(all, ", ");
      };
      text += fmt::format(
          "  CUtensorMap map_{0};\n  if (error == cudaSuccess) {{\n    error = tiled(map_{0}, "
          "CU_TENSOR_MAP_DATA_TYPE_{1}, {2}, {3}, {{{4}}}, {{{5}}}, CU_TENSOR_MAP_SWIZZLE_{6});\n  "
          "}}\n",
          map.name, tensormap_type(dtype), size_of(dtype),
          tensor ? text_.identifier(map.tensor) : scratch_identifier(*scratch),
          innermost_first(shape), innermost_first(map.box),
          map.swizzle == 0 ? "NONE" : fmt::format("{}B", map.swizzle));
    }
    return text;
  }

  std::string pointer(std::string_view name, const Expression* offset) const {
    const TensorSpec* tensor = tensor_named(name);
    const ScratchSpec* scratch = scratch_named(name);
    std::string base = tensor ? text_.identifier(name) : scratch_identifier(*scratch);
    std::string bytes = offset ? fmt::format("({}) * {}", text_.c_expression(*offset),
                                             size_of(tensor ? tensor->dtype : scratch->dtype))
                               : "0";
    return fmt::format("offset({}, {})", base, bytes);
  }

  std::string named_integer(const std::string& name) const {
    return text_.c_expression(Expression::parse(name).value_or(Expression()));
  }

  std::string argument(const LaunchArgument& argument) const {
    if (auto* real = std::get_if<RealArgument>(&argument))
      return fmt::format("double({:.17g})", real->value);
    if (auto* integer = std::get_if<IntegerArgument>(&argument))
      return text_.c_expression(integer->value);
    if (auto* sum = std::get_if<PointerArgument>(&argument)) {
      if (tensor_named(sum->tensor) || scratch_named(sum->tensor))
        return pointer(sum->tensor, &sum->offset);
      return fmt::format("{} + {}", named_integer(sum->tensor), text_.c_expression(sum->offset));
    }
    const std::string& name = std::get<NamedArgument>(argument).name;
    if (tensor_named(name) || scratch_named(name)) return pointer(name, nullptr);
    if (std::ranges::find(directives_.tensormaps, name, &TensormapSpec::name) !=
        directives_.tensormaps.end()) {
      return "map_" + name;
    }
    return named_integer(name);  // an axis, a tunable, or a scalar by its name
  }

  std::string extent(const std::array<Expression, 3>& sizes) const {
    return fmt::format("Extent{{{}, {}, {}}}", text_.c_expression(sizes[0]),
                       text_.c_expression(sizes[1]), text_.c_expression(sizes[2]));
  }

  Result<std::string> launches() const {
    std::string text;
    for (const LaunchSpec& launch : directives_.launches) {
      auto kernel = name_expression(launch, tunables_);
      if (!kernel) return fail(ErrorCode::artifact_damaged, kernel.error().reason);
      std::string arguments;
      for (const LaunchArgument& each : launch.arguments) arguments += ", " + argument(each);
      text += fmt::format(
          "  if (error == cudaSuccess) {{\n    error = launch({}, {}, {}, {}, {}, {}, stream{});\n "
          " }}\n",
          *kernel, extent(launch.grid), extent(launch.block),
          text_.c_expression(launch.shared_bytes),
          launch.cluster ? extent(*launch.cluster) : "Extent{0, 0, 0}", launch.cooperative,
          arguments);
    }
    return text;
  }

  const KernelTask& task_;
  const TaskText& text_;
  const Directives& directives_;
  const Values& tunables_;
};

void add_device_values(TemplateValues& values, const KernelTask& task, const TaskText& text) {
  std::string to_device, fetch, arguments;
  auto add = [&](const TensorSpec& tensor, bool is_output) {
    std::string name = text.identifier(tensor.name);
    to_device += fmt::format("  OnDevice<{}> {}_there({});\n", host_type(tensor.dtype), name, name);
    if (is_output) fetch += fmt::format("  {}_there.fetch();\n", name);
    bool is_short = tensor.dtype == Dtype::f16 || tensor.dtype == Dtype::bf16;
    arguments += is_short ? fmt::format("reinterpret_cast<uint16_t*>({}_there.data()), ", name)
                          : fmt::format("{}_there.data(), ", name);
  };
  for (const TensorSpec& input : task.inputs) add(input, false);
  for (const TensorSpec& output : task.outputs) add(output, true);
  std::vector<std::string> axes;
  for (const AxisSpec& axis : task.axes) axes.push_back(text.identifier(axis.name));
  std::string rest = join(axes, ", ");
  for (const ScalarSpec& scalar : task.scalars) rest += fmt::format(", {:.17g}", scalar.value);
  to_device.pop_back();
  fetch.pop_back();
  values["to_device"] = to_device;
  values["fetch"] = fetch;
  values["device_arguments"] = arguments + rest;
  values["axis_arguments"] = join(axes, ", ");
}

}  // namespace

Result<KernelLibrary> cuda_library(const ExportedKernel& kernel) {
  const KernelTask& task = kernel.task;
  Directives directives = TRY(directives_of(kernel.source, "the winner"));
  Values tunables = TRY(chosen_tunables(kernel, directives));
  TaskText text(task, tunables);
  KernelLibrary library{.values = common_values(kernel, text), .files = {}};
  TemplateValues& values = library.values;
  add_device_values(values, task, text);
  values["flags"] = "";
  values["libraries"] = directives.tensormaps.empty() ? "" : "-lcuda";
  std::string launcher = TRY(Launcher(task, text, directives, tunables)
                                 .file(values, values["function"], task.name + "_kernel.cu"));
  library.files = {{task.name + ".h", fill_template(export_template("cuda_header"), values)},
                   {task.name + ".cu", fmt::format("#include \"{}.h\"\n\n{}", task.name, launcher)},
                   {task.name + "_kernel.cu", kernel.source}};
  return library;
}

Result<std::vector<ExportedFile>> export_cuda(const ExportedKernel& kernel) {
  const KernelTask& task = kernel.task;
  Directives of_baseline = TRY(directives_of(task.baseline_cu, "baseline.cu"));
  Values baseline_tunables = tunable_values(of_baseline, {}).value_or(Values{});
  auto [values, files] = TRY(cuda_library(kernel));
  TaskText baseline_text(task, baseline_tunables);
  const std::vector<std::string> once{""};
  values["checks"] = check_calls(task, TRY(test_cases(task, Backend::cuda)), once);
  values["timings"] = time_calls(TRY(timed_cases(task, Backend::cuda)), "");
  if (!of_baseline.tensormaps.empty()) values["libraries"] = "-lcuda";
  std::string baseline_launcher =
      TRY(Launcher(task, baseline_text, of_baseline, baseline_tunables)
              .file(values, values["function"] + "_baseline", "baseline_kernel.cu"));
  auto from = [&values](std::string_view name) {
    return fill_template(export_template(name), values);
  };
  files.insert(files.begin(),
               {{"README.md", from("cuda_readme")}, {"Makefile", from("cuda_makefile")}});
  files.insert(files.end(), {{"reference.cc",
                              "#include <cmath>\n#include <cstdint>\n\n" + task.reference_source},
                             {"check.h", std::string(export_template("check.h"))},
                             {"cuda_device.h", std::string(export_template("cuda_device.h"))},
                             {"test.cu", from("cuda_test")},
                             {"baseline.cu", std::move(baseline_launcher)},
                             {"baseline_kernel.cu", task.baseline_cu},
                             {"bench.cu", from("cuda_bench")}});
  return files;
}

}  // namespace specgen
