#include "search/task_brief.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluate/pytorch/description.h"
#include "evaluate/task/signature.h"

namespace specgen {
namespace {

std::string type_of(const TensorSpec& tensor) {
  std::vector<std::string> shape;
  for (const Expression& length : tensor.shape) shape.push_back(length.text());
  return fmt::format("{}[{}]", to_string(tensor.dtype), fmt::join(shape, ", "));
}

std::string tensors_of(const KernelTask& task) {
  std::string text;
  for (const TensorSpec& input : task.inputs) {
    text += fmt::format("- input `{}`: {}", input.name, type_of(input));
    if (!input.data.empty()) {
      std::vector<std::string> data;
      for (const Distribution& each : input.data) data.push_back(each.text());
      text += fmt::format(", filled with {}", fmt::join(data, " or "));
    }
    text += "\n";
  }
  for (const TensorSpec& output : task.outputs) {
    text += fmt::format("- output `{}`: {}\n", output.name, type_of(output));
  }
  for (const ScalarSpec& scalar : task.scalars) {
    text += fmt::format("- scalar `{}` = {}\n", scalar.name, scalar.value);
  }
  return text;
}

std::string cases_of(const KernelTask& task, Backend backend) {
  std::string text;
  for (const PublicCase& each : task.cases) {
    if (std::ranges::find(each.backends, backend) == each.backends.end()) continue;
    std::vector<std::string> lengths;
    for (const AxisSpec& axis : task.axes) {
      lengths.push_back(fmt::format("{}={}", axis.name, each.axes.at(axis.name)));
    }
    text += fmt::format("- {}", fmt::join(lengths, " "));
    if (each.weight > 0) text += fmt::format(": timed, weight {}", each.weight);
    text += "\n";
  }
  return text;
}

std::string hidden_cases_of(const KernelTask& task) {
  if (task.hidden_cases == 0) return "These are the only shapes.\n";
  std::vector<std::string> ranges;
  for (const AxisSpec& axis : task.axes) {
    ranges.push_back(fmt::format("{} from {} to {}", axis.name, axis.low, axis.high));
    if (axis.multiple > 1) ranges.back() += fmt::format(" in multiples of {}", axis.multiple);
  }
  return fmt::format(
      "It is also run on {} hidden cases, with lengths that are odd, prime or 1: {}. The kernel "
      "must be right for every "
      "length.\n",
      task.hidden_cases, fmt::join(ranges, ", "));
}

std::string exactness_of(const KernelTask& task) {
  std::string text = fmt::format(
      "Every output element is compared with an fp64 reference and may be off by {} times what "
      "honest rounding does to "
      "its sum (unit roundoff 2^{}), and the overall error may not be much larger than the "
      "baseline's.",
      task.check.tolerance, std::lround(std::log2(task.check.unit_roundoff)));
  if (task.element == Dtype::f32 && task.check.unit_roundoff <= unit_roundoff(Dtype::f32)) {
    text += " Products in tf32, f16 or bf16 are found and count as imprecise.";
  } else if (task.element == Dtype::f16 || task.element == Dtype::bf16) {
    text += " Inputs and outputs are rounded to their dtype; sums are to be held in f32.";
  }
  if (task.check.deterministic) text += " The same input must give the same bits.";
  return text + "\n";
}

std::string description_of(const KernelTask& task, Backend backend) {
  std::string text = fmt::format("`{}`: {}.\n\n{}\n", task.name, task.summary, tensors_of(task));
  text += "Tensors are dense, in row-major order. T is " + std::string(to_string(task.element)) +
          ". Public cases:\n" + cases_of(task, backend) + hidden_cases_of(task);
  text +=
      "The speedup is the weighted geometric mean over the timed cases of baseline time over "
      "kernel time.\n";
  text += "\n" + exactness_of(task);
  if (!task.bytes.names().empty()) {
    text += fmt::format("Any implementation must move at least {} bytes and do {} operations.\n",
                        task.bytes.text(), task.flops.text());
  }
  return text;
}

std::string launch_names_of(const KernelTask& task) {
  std::string text;
  for (const TensorSpec& input : task.inputs) {
    text += fmt::format("- `{}`: `const {}*`\n", input.name, cuda_type(input.dtype));
  }
  for (const TensorSpec& output : task.outputs) {
    text += fmt::format("- `{}`: `{}*`\n", output.name, cuda_type(output.dtype));
  }
  for (const AxisSpec& axis : task.axes) text += fmt::format("- `{}`: a whole number\n", axis.name);
  for (const ScalarSpec& one : task.scalars) {
    text += fmt::format("- `{}`: a real number\n", one.name);
  }
  return text;
}

std::string signature_of(const KernelTask& task, Backend backend) {
  if (backend == Backend::cuda) return "Names for launch lines:\n" + launch_names_of(task);
  return "Define exactly this function:\n```cpp\n" + cpu_signature(task) + "\n```\n";
}

// The rules of evaluate/pytorch as prose, while the module has not been run yet.
std::string pytorch_names(std::string_view title, bool cuda) {
  std::string order =
      "the tensors that forward() takes, by their names; the module's parameters and buffers by "
      "their dotted names with "
      "underscores (`conv.weight` is `conv_weight`); the outputs `out0`, `out1`, ...; then for "
      "each tensor that forward() "
      "takes its lengths and its number of elements";
  if (cuda) {
    return fmt::format(
        "Names for launch lines: {}: `x.0`, `x.1`, ... and `x.n` of `x`; numbers that forward() "
        "takes, by their "
        "names.\n",
        order);
  }
  return fmt::format(
      "Define `extern \"C\" void {}(...)`. Arguments in order: {}: `int64_t x_0, int64_t x_1, ..., "
      "int64_t x_n` of `x`; "
      "numbers that forward() takes as `double`; `void* scratch, int tid, int nthreads`. Inputs "
      "are `const float*`, "
      "outputs `float*` (or the type of their dtype).\n",
      entry_name(std::string(title) + ".py"), order);
}

}  // namespace

TaskBrief brief_of(const KernelTask& task, Backend backend, std::string_view device_name) {
  return {.title = task.title(),
          .backend = std::string(to_string(backend)),
          .description = description_of(task, backend),
          .signature = signature_of(task, backend),
          .hardware = std::string(device_name),
          .baseline = backend == Backend::cpu ? task.baseline_cc : task.baseline_cu};
}

TaskBrief brief_of_python(std::string_view title, std::string_view source, std::string_view backend,
                          std::string_view device_name, bool model_new, const KernelTask* known) {
  bool cuda = backend == "cuda";
  TaskBrief brief{.title = std::string(title),
                  .backend = std::string(backend),
                  .hardware = std::string(device_name),
                  .baseline = std::string(source),
                  .is_pytorch = true,
                  .model_new = model_new};
  brief.description =
      "What `Model.forward` of the PyTorch file below computes, on the inputs of `get_inputs()` "
      "and with the parameters "
      "that `Model(*get_init_inputs())` has. The shapes are those of the file and never change. "
      "The speedup is the "
      "module's own time, run eagerly, over the kernel's. Outputs may differ from the module's by "
      "what another order of "
      "its sums does; tf32 or f16 inside a module of f32 is found and counts as imprecise.\n";
  if (!model_new && known) {
    brief.signature = signature_of(*known, cuda ? Backend::cuda : Backend::cpu);
  } else if (!model_new) {
    brief.signature = pytorch_names(title, cuda);
  }
  return brief;
}

}  // namespace specgen
