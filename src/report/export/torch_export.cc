// Any native kernel as a Python module, beside its C function. It uses ctypes rather than PyTorch's C++ headers, which
// take most of a minute to compile and tie the library to one version.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "evaluate/judge/compare.h"
#include "report/export/export_parts.h"

namespace specgen {

std::string torch_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return "torch.float64";
    case Dtype::f16:
      return "torch.float16";
    case Dtype::bf16:
      return "torch.bfloat16";
    case Dtype::i64:
      return "torch.int64";
    case Dtype::i32:
      return "torch.int32";
    case Dtype::u8:
      return "torch.uint8";
    default:
      return "torch.float32";
  }
}

namespace {

std::string kind_name(Distribution::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames{"normal",   "uniform",  "heavy",
                                                   "positive", "integers", "signs"};
  return std::string(kNames[static_cast<std::size_t>(kind)]);
}

class TorchText {
 public:
  TorchText(const ExportedKernel& kernel, const TaskText& text)
      : kernel_(kernel), task_(kernel.task), text_(text) {}

  Result<TemplateValues> values() const {
    TemplateValues values = common_values(kernel_, text_);
    bool cuda = kernel_.backend == Backend::cuda;
    std::string origin = values["origin"];
    values["origin_line"] = origin;
    values["device_type"] = cuda ? "cuda" : "cpu";
    values["alignment"] = cuda ? "16" : "64";
    std::string dashed = task_.name;
    std::ranges::replace(dashed, '_', '-');
    values["dashed_name"] = dashed;
    std::size_t pointers = task_.inputs.size() + task_.outputs.size();
    std::vector<std::string> argtypes(pointers, "ctypes.c_void_p");
    argtypes.insert(argtypes.end(), task_.axes.size(), "ctypes.c_int64");
    argtypes.insert(argtypes.end(), task_.scalars.size(), "ctypes.c_double");
    argtypes.insert(argtypes.end(), cuda ? 2 : 1, cuda ? "ctypes.c_void_p" : "ctypes.c_int");
    values["argtypes"] = join(argtypes, ", ");
    values["python_parameters"] = python_parameters();
    values["axes"] = axes();
    values["checks_of_inputs"] = checks_of_inputs();
    values["outputs"] = outputs();
    values["call"] = call();
    values["results"] = joined_names(task_.outputs);
    values["example"] =
        fmt::format("{} = {}({})", joined_names(task_.outputs), task_.name, example_arguments());
    add_test_values(values);
    values["cases"] = cases(TRY(test_cases(task_, kernel_.backend)), true);
    values["timings"] = cases(TRY(timed_cases(task_, kernel_.backend)), false);
    return values;
  }

 private:
  template <class Specs>
  std::string joined_names(const Specs& specs) const {
    std::vector<std::string> names;
    for (const auto& spec : specs) names.push_back(text_.identifier(spec.name));
    return join(names, ", ");
  }

  // The first input dimension that is exactly this axis; none: the caller must pass it.
  std::optional<std::string> shape_of_axis(const AxisSpec& axis) const {
    for (const TensorSpec& input : task_.inputs) {
      for (std::size_t i = 0; i < input.shape.size(); ++i) {
        if (trim(input.shape[i].text()) == axis.name) {
          return fmt::format("{}.shape[{}]", text_.identifier(input.name), i);
        }
      }
    }
    return std::nullopt;
  }

  std::vector<std::string> passed_axes() const {
    std::vector<std::string> all;
    for (const AxisSpec& axis : task_.axes) {
      if (!shape_of_axis(axis)) all.push_back(text_.identifier(axis.name));
    }
    return all;
  }

  std::string python_parameters() const {
    std::vector<std::string> all;
    for (const TensorSpec& input : task_.inputs) all.push_back(text_.identifier(input.name));
    bool has_more =
        !passed_axes().empty() || !task_.scalars.empty() || kernel_.backend == Backend::cpu;
    if (has_more) all.emplace_back("*");
    for (const std::string& axis : passed_axes()) all.push_back(axis);
    for (const ScalarSpec& scalar : task_.scalars) {
      all.push_back(fmt::format("{}={}", text_.identifier(scalar.name), scalar.value));
    }
    if (kernel_.backend == Backend::cpu) all.emplace_back("threads=1");
    return join(all, ", ");
  }

  std::string example_arguments() const {
    std::string all = joined_names(task_.inputs);
    for (const std::string& axis : passed_axes()) all += fmt::format(", {}=...", axis);
    return all;
  }

  std::string axes() const {
    std::string text;
    for (const AxisSpec& axis : task_.axes) {
      if (auto shape = shape_of_axis(axis)) {
        text += fmt::format("    {} = {}\n", text_.identifier(axis.name), *shape);
      }
    }
    if (!text.empty()) text.pop_back();
    return text.empty() ? "    pass" : text;
  }

  std::string shape_text(const TensorSpec& tensor) const {
    std::string text = "(";
    for (const Expression& length : tensor.shape) text += text_.python_expression(length) + ", ";
    if (text.ends_with(", ") && tensor.shape.size() > 1) text.resize(text.size() - 2);
    if (text.ends_with(", ")) text.pop_back();
    return text + ")";
  }

  std::string checks_of_inputs() const {
    std::vector<std::string> lines;
    for (const TensorSpec& input : task_.inputs) {
      std::string name = text_.identifier(input.name);
      lines.push_back(fmt::format("    {0} = _checked(\"{0}\", {0}, {1}, {2})", name,
                                  torch_dtype(input.dtype), shape_text(input)));
    }
    return join(lines, "\n");
  }

  std::string outputs() const {
    std::vector<std::string> lines;
    for (const TensorSpec& output : task_.outputs) {
      lines.push_back(fmt::format("    {} = torch.empty({}, dtype={}, device={}.device)",
                                  text_.identifier(output.name), shape_text(output),
                                  torch_dtype(output.dtype),
                                  text_.identifier(task_.inputs.front().name)));
    }
    return join(lines, "\n");
  }

  std::string call() const {
    std::vector<std::string> arguments;
    for (const auto* tensors : {&task_.inputs, &task_.outputs}) {
      for (const TensorSpec& tensor : *tensors)
        arguments.push_back(text_.identifier(tensor.name) + ".data_ptr()");
    }
    for (const AxisSpec& axis : task_.axes) arguments.push_back(text_.identifier(axis.name));
    for (const ScalarSpec& scalar : task_.scalars)
      arguments.push_back(text_.identifier(scalar.name));
    if (kernel_.backend == Backend::cpu) {
      return fmt::format("    error = _function()({}, threads)", join(arguments, ", "));
    }
    std::string first = text_.identifier(task_.inputs.front().name);
    return fmt::format(
        "    with torch.cuda.device({0}.device):\n"
        "        stream = torch.cuda.current_stream().cuda_stream\n"
        "        error = _function()({1}, None, stream)",
        first, join(arguments, ", "));
  }

  void add_test_values(TemplateValues& values) const {
    std::vector<std::string> shapes, dtypes, scalars, passed;
    for (const TensorSpec& input : task_.inputs) {
      shapes.push_back(shape_text(input));
      dtypes.push_back(torch_dtype(input.dtype));
    }
    for (const ScalarSpec& scalar : task_.scalars)
      scalars.push_back(fmt::format("{:.17g}", scalar.value));
    for (const std::string& axis : passed_axes()) passed.push_back(fmt::format(", {0}={0}", axis));
    values["input_shapes"] = fmt::format("[{}]", join(shapes, ", "));
    values["input_dtypes"] = fmt::format("[{}]", join(dtypes, ", "));
    values["scalar_values"] = fmt::format("[{}]", join(scalars, ", "));
    values["extra_axes"] = join(passed, "");
    std::string axis_names = joined_names(task_.axes);
    values["unpack_axes"] = fmt::format("    ceildiv = module.ceildiv\n    {}, = axes", axis_names);
    values["sampled"] = task_.check.sampled ? "True" : "False";
    values["vendor"] = task_.vendor.empty() ? "None" : task_.vendor;
    values["has_vendor"] = task_.vendor.empty() ? "False" : "True";
    values["vendor_note"] = task_.vendor.empty() ? "" : " against PyTorch's own";
    std::string parameters = joined_names(task_.inputs) + ", " + axis_names;
    for (const ScalarSpec& scalar : task_.scalars) {
      parameters += fmt::format(", {}={}", text_.identifier(scalar.name), scalar.value);
    }
    values["vendor_parameters"] = parameters;
  }

  // ("rows=7 cols=33", (7, 33), [("normal", 0, 2)], [(1e-6, 6e-8, 1e-30)]), one per line.
  std::string cases(const std::vector<Case>& all, bool with_tolerances) const {
    std::vector<std::string> lines;
    for (const Case& at : all) {
      std::string axes, data, tolerances;
      for (const std::string& axis : at.axis_order) axes += fmt::format("{}, ", at.axes.at(axis));
      for (const TensorSpec& input : task_.inputs) {
        const Distribution& from = input.data[at.draw % input.data.size()];
        data += fmt::format("(\"{}\", {}, {}), ", kind_name(from.kind), from.a, from.b);
      }
      for (const Tensor& output : at.outputs) {
        Bounds bounds = bounds_of(tolerance_of(task_.check, at, output.dtype), output.dtype);
        tolerances += fmt::format("({:.9g}, {:.9g}, {:.9g}), ", bounds.scale_factor,
                                  bounds.value_factor, bounds.floor);
      }
      std::string arguments = fmt::format("\"{}\", ({}), [{}]", at.title(), trim(axes), data);
      lines.push_back(with_tolerances ? fmt::format("    ({}, [{}]),", arguments, tolerances)
                                      : fmt::format("    time_case({})", arguments));
    }
    return join(lines, "\n");
  }

  const ExportedKernel& kernel_;
  const KernelTask& task_;
  const TaskText& text_;
};

}  // namespace

Result<std::vector<ExportedFile>> export_torch(const ExportedKernel& kernel) {
  std::vector<ExportedFile> files =
      kernel.backend == Backend::cpu ? TRY(export_cpp(kernel)) : TRY(export_cuda(kernel));
  TaskText text(kernel.task, kernel.tunables);
  TemplateValues values = TRY(TorchText(kernel, text).values());
  auto from = [&](std::string_view name) { return fill_template(export_template(name), values); };
  const std::string& name = kernel.task.name;
  files.front().text += from("torch_readme");
  files.push_back({name + ".py", from("torch_module")});
  files.push_back({"test_" + name + ".py", from("torch_test")});
  files.push_back({"bench_" + name + ".py", from("torch_bench")});
  files.push_back({"setup.py", from("torch_setup")});
  return files;
}

}  // namespace specgen
