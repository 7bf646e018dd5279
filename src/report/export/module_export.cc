// Winners for PyTorch files: a class ModelNew beside the problem, whose test compares the two.

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "report/export/export_parts.h"

namespace specgen {
namespace {

std::string shape_text(const Tensor& tensor) {
  std::string text = "(";
  for (std::int64_t length : tensor.shape) text += fmt::format("{}, ", length);
  return text + ")";
}

// ((shape), dtype), one per line.
std::string tensors_text(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& tensor : tensors) {
    text += fmt::format("    ({}, {}),\n", shape_text(tensor), torch_dtype(tensor.dtype));
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// Arguments of forward() in the evaluation: None for a tensor, otherwise the value.
std::string arguments_text(const Description& description) {
  std::vector<std::string> all;
  for (const ForwardArgument& argument : description.arguments) {
    all.push_back(argument.is_tensor ? "TENSOR"
                                     : fmt::format("json.loads('{}')", argument.value_json));
  }
  return join(all, ", ");
}

void add_module_values(TemplateValues& values, const ExportedModule& module) {
  const KernelTask& task = module.kernel.task;
  const Description& description = module.description;
  bool cuda = module.kernel.backend == Backend::cuda;
  std::vector<std::string> names, argtypes;
  for (const std::string& name : description.parameter_names) {
    names.push_back(compact_json(Json(name)));  // a JSON string is a Python string
  }
  argtypes.assign(task.inputs.size() + task.outputs.size(), "ctypes.c_void_p");
  argtypes.insert(argtypes.end(), task.axes.size(), "ctypes.c_int64");
  argtypes.insert(argtypes.end(), task.scalars.size(), "ctypes.c_double");
  argtypes.insert(argtypes.end(), cuda ? 2 : 1, cuda ? "ctypes.c_void_p" : "ctypes.c_int");
  values["argtypes"] = join(argtypes, ", ");
  values["input_specs"] = tensors_text(description.inputs);
  values["parameter_specs"] = tensors_text(description.parameters);
  values["output_specs"] = tensors_text(description.outputs);
  values["parameter_names"] = join(names, ", ");
  values["forward_arguments"] = arguments_text(description);
  values["device_type"] = cuda ? "cuda" : "cpu";
  values["alignment"] = cuda ? "16" : "64";
  values["language"] = cuda ? "CUDA" : "C++";
  values["suffix"] = cuda ? "cu" : "cc";
  values["call"] = cuda ? "        with torch.cuda.device(tensors[0].device):\n"
                          "            stream = torch.cuda.current_stream().cuda_stream\n"
                          "            error = _function()(*arguments, None, stream)"
                        : "        error = _function()(*arguments, torch.get_num_threads())";
}

}  // namespace

Result<std::vector<ExportedFile>> export_native_module(const ExportedModule& module) {
  bool cuda = module.kernel.backend == Backend::cuda;
  auto [values, files] = TRY(cuda ? cuda_library(module.kernel) : cpp_library(module.kernel));
  add_module_values(values, module);
  auto from = [&values](std::string_view name) {
    return fill_template(export_template(name), values);
  };
  files.insert(files.begin(),
               {{"README.md", from("module_readme")},
                {"Makefile", from(cuda ? "module_cuda_makefile" : "module_cpp_makefile")},
                {"model_new.py", from("module_native")},
                {"problem.py", module.problem},
                {"test_model_new.py", std::string(export_template("python_module_test"))},
                {"bench_model_new.py", std::string(export_template("module_bench"))}});
  return files;
}

std::vector<ExportedFile> export_python_module(std::string_view module, std::string_view problem,
                                               std::string_view origin) {
  return {{"README.md", fill_template(export_template("python_module_readme"),
                                      {{"origin", "From " + std::string(origin)}})},
          {"model_new.py", std::string(module)},
          {"problem.py", std::string(problem)},
          {"test_model_new.py", std::string(export_template("python_module_test"))}};
}

}  // namespace specgen
