// A task's function in C and Python.

#include <fmt/format.h>

#include "base/text.h"
#include "evaluate/task/signature.h"
#include "report/export/export_parts.h"

namespace specgen {
namespace {

bool is_name_part(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

std::string data_text(const Distribution& data) {
  using Kind = Distribution::Kind;
  std::string_view kind = data.kind == Kind::normal     ? "normal"
                          : data.kind == Kind::uniform  ? "uniform"
                          : data.kind == Kind::heavy    ? "heavy"
                          : data.kind == Kind::positive ? "positive"
                          : data.kind == Kind::integers ? "integers"
                                                        : "signs";
  return fmt::format("{{Data::{}, {}, {}}}", kind, data.a, data.b);
}

}  // namespace

std::string c_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16:
      return "uint16_t";
    case Dtype::u8:
      return "uint8_t";
    case Dtype::i32:
      return "int32_t";
    case Dtype::i64:
      return "int64_t";
    case Dtype::f64:
      return "double";
    default:
      return "float";
  }
}

std::string host_type(Dtype dtype) {
  return dtype == Dtype::f16 ? "Half" : dtype == Dtype::bf16 ? "Bf16" : c_type(dtype);
}

TaskText::TaskText(const KernelTask& task, const Values& tunables)
    : task_(task), numbers_(tunables) {
  numbers_["sizeof_T"] = static_cast<std::int64_t>(size_of(task.element));
  // Names that the files around the kernel use themselves.
  std::vector<std::string> taken{"stream", "threads", "scratch",   "draw", "wrong",
                                 "failed", "title",   "work",      "team", "config",
                                 "main",   "check",   "tolerances"};
  auto add = [&](const std::string& name) { identifiers_[name] = unique_identifier(name, taken); };
  for (const TensorSpec* tensor : all_tensors()) add(tensor->name);
  for (const AxisSpec& axis : task.axes) add(axis.name);
  for (const ScalarSpec& scalar : task.scalars) add(scalar.name);
}

std::string TaskText::identifier(std::string_view name) const {
  auto found = identifiers_.find(name);
  return found == identifiers_.end() ? std::string(name) : found->second;
}

std::vector<const TensorSpec*> TaskText::all_tensors() const {
  std::vector<const TensorSpec*> all;
  for (const TensorSpec& input : task_.inputs) all.push_back(&input);
  for (const TensorSpec& output : task_.outputs) all.push_back(&output);
  return all;
}

bool TaskText::uses(Dtype dtype) const {
  for (const TensorSpec* tensor : all_tensors()) {
    if (tensor->dtype == dtype) return true;
  }
  return task_.element == dtype;
}

std::string TaskText::parameters() const {
  std::vector<std::string> all;
  for (const TensorSpec* tensor : all_tensors()) {
    all.push_back(fmt::format("{}{}* {}", tensor->data.empty() ? "" : "const ",
                              c_type(tensor->dtype), identifier(tensor->name)));
  }
  for (const AxisSpec& axis : task_.axes) all.push_back("int64_t " + identifier(axis.name));
  for (const ScalarSpec& scalar : task_.scalars) all.push_back("double " + identifier(scalar.name));
  return join(all, ", ");
}

std::string TaskText::arguments() const {
  std::vector<std::string> all;
  for (const TensorSpec* tensor : all_tensors()) all.push_back(identifier(tensor->name));
  for (const AxisSpec& axis : task_.axes) all.push_back(identifier(axis.name));
  for (const ScalarSpec& scalar : task_.scalars) all.push_back(identifier(scalar.name));
  return join(all, ", ");
}

std::string TaskText::tensors() const {
  std::vector<std::string> all;
  for (const TensorSpec* tensor : all_tensors()) all.push_back(identifier(tensor->name));
  return join(all, ", ");
}

std::string TaskText::axis_parameters() const {
  std::vector<std::string> all;
  for (const AxisSpec& axis : task_.axes) all.push_back("int64_t " + identifier(axis.name));
  return join(all, ", ");
}

std::string TaskText::reference_parameters() const {
  std::vector<std::string> all;
  for (const TensorSpec& input : task_.inputs) {
    all.push_back("const double* " + identifier(input.name));
  }
  for (const TensorSpec& output : task_.outputs) {
    all.push_back("double* " + identifier(output.name));
    all.push_back("double* " + identifier(output.name) + "_scale");
  }
  for (const AxisSpec& axis : task_.axes) all.push_back("int64_t " + identifier(axis.name));
  for (const ScalarSpec& scalar : task_.scalars) all.push_back("double " + identifier(scalar.name));
  return join(all, ", ");
}

std::string TaskText::call_arguments() const {
  std::vector<std::string> all;
  for (const TensorSpec* tensor : all_tensors()) {
    std::string pointer = identifier(tensor->name) + ".data()";
    bool is_short = tensor->dtype == Dtype::f16 || tensor->dtype == Dtype::bf16;
    all.push_back(is_short ? fmt::format("reinterpret_cast<uint16_t*>({})", pointer) : pointer);
  }
  for (const AxisSpec& axis : task_.axes) all.push_back(identifier(axis.name));
  for (const ScalarSpec& scalar : task_.scalars)
    all.push_back(fmt::format("{:.17g}", scalar.value));
  return join(all, ", ");
}

std::string TaskText::make_tensors() const {
  std::string text;
  std::uint64_t seed = 1;
  for (const TensorSpec* tensor : all_tensors()) {
    std::string name = identifier(tensor->name);
    text += fmt::format("  Buffer<{}> {}({});\n", host_type(tensor->dtype), name,
                        elements(tensor->shape));
    if (tensor->data.empty()) continue;
    std::vector<std::string> all;
    for (const Distribution& data : tensor->data) all.push_back(data_text(data));
    text += fmt::format("  const Data {}_data[] = {{{}}};\n", name, join(all, ", "));
    text += fmt::format("  {}.fill({}_data[draw % {}], {});\n", name, name, all.size(), seed++);
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string TaskText::expectations() const {
  std::string text;
  std::vector<std::string> arguments;
  for (const TensorSpec& input : task_.inputs) {
    std::string name = identifier(input.name);
    text += fmt::format("  const std::vector<double> {0}_exact = {0}.doubles();\n", name);
    arguments.push_back(name + "_exact.data()");
  }
  for (const TensorSpec& output : task_.outputs) {
    std::string name = identifier(output.name);
    text += fmt::format(
        "  std::vector<double> {0}_expected(static_cast<size_t>({0}.size())), "
        "{0}_scale({0}_expected.size());\n",
        name);
    arguments.push_back(name + "_expected.data()");
    arguments.push_back(name + "_scale.data()");
  }
  for (const AxisSpec& axis : task_.axes) arguments.push_back(identifier(axis.name));
  for (const ScalarSpec& scalar : task_.scalars) {
    arguments.push_back(fmt::format("{:.17g}", scalar.value));
  }
  std::string first = identifier(task_.outputs.front().name);
  text += fmt::format("  const std::vector<int64_t> looked_at = indices({}.size(), {});\n", first,
                      task_.check.sampled);
  if (task_.check.sampled) {
    text += fmt::format("  for (int64_t i : looked_at) reference({}, i, i + 1);\n",
                        join(arguments, ", "));
  } else {
    text += fmt::format("  reference({}, 0, {}.size());\n", join(arguments, ", "), first);
  }
  text += "  int64_t wrong = 0;\n";
  for (std::size_t i = 0; i < task_.outputs.size(); ++i) {
    std::string name = identifier(task_.outputs[i].name);
    text += fmt::format(
        "  wrong += wrong_elements(\"{0}\", {0}.data(), {0}_expected, {0}_scale, tolerances[{1}], "
        "{2});\n",
        name, i,
        i == 0 ? "looked_at" : fmt::format("indices({}.size(), {})", name, task_.check.sampled));
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string TaskText::translated(const Expression& expression, Language language) const {
  std::string_view text = expression.text();
  std::string result;
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && is_name_part(text[length])) ++length;
    if (length == 0) {
      bool divides = text[0] == '/' && language == Language::python;
      result += divides ? "//" : std::string(1, text[0]);
      text.remove_prefix(1);
      continue;
    }
    std::string_view word = text.substr(0, length);
    auto number = numbers_.find(word);
    auto literal = [&](std::string_view digits) {
      return language == Language::c ? fmt::format("INT64_C({})", digits) : std::string(digits);
    };
    if (word[0] >= '0' && word[0] <= '9') {
      result += literal(word);
    } else if (number != numbers_.end()) {
      result += literal(fmt::format("{}", number->second));
    } else if (word == "ceildiv" || word == "min" || word == "max") {
      result += language == Language::c ? fmt::format("sg_{}", word) : std::string(word);
    } else {
      result += identifier(word);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string TaskText::c_expression(const Expression& expression) const {
  return translated(expression, Language::c);
}
std::string TaskText::python_expression(const Expression& expression) const {
  return translated(expression, Language::python);
}

std::string TaskText::elements(const std::vector<Expression>& shape) const {
  if (shape.empty()) return "INT64_C(1)";
  std::vector<std::string> factors;
  for (const Expression& length : shape) factors.push_back("(" + c_expression(length) + ")");
  return join(factors, " * ");
}

}  // namespace specgen
