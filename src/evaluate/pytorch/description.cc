#include "evaluate/pytorch/description.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "evaluate/host/tool_run.h"
#include "evaluate/task/signature.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxTensors = 4096;
constexpr std::size_t kMaxDimensions = 16;
constexpr std::size_t kMaxNameBytes = 200;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 38;

// Declared by <cmath>, <cstdlib>, <cstring>, which a candidate may include.
constexpr auto kLibraryNames = std::to_array<std::string_view>(
    {"abs",   "acos",  "acosh",     "asin", "asinh", "atan",   "atan2",  "atanh", "cbrt",
     "ceil",  "cos",   "cosh",      "div",  "erf",   "erfc",   "exp",    "exp2",  "expm1",
     "fabs",  "fdim",  "floor",     "fma",  "fmax",  "fmin",   "fmod",   "free",  "frexp",
     "gamma", "hypot", "index",     "j0",   "j1",    "jn",     "lgamma", "log",   "log2",
     "log10", "log1p", "logb",      "main", "max",   "memcpy", "memset", "min",   "modf",
     "pow",   "rand",  "remainder", "rint", "round", "select", "signal", "sin",   "sinh",
     "sort",  "sqrt",  "system",    "tan",  "tanh",  "tgamma", "time",   "trunc", "y0",
     "y1",    "yn"});

Result<Dtype> dtype_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Dtype>, 7> kNames{{{"f64", Dtype::f64},
                                                                      {"f32", Dtype::f32},
                                                                      {"f16", Dtype::f16},
                                                                      {"bf16", Dtype::bf16},
                                                                      {"i64", Dtype::i64},
                                                                      {"i32", Dtype::i32},
                                                                      {"u8", Dtype::u8}}};
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  return fail(ErrorCode::bad_message, "the dtype '" + printable(name) + "'");
}

Result<const boost::json::array*> list_at(const Json& object, std::string_view key) {
  const Json* member = member_at(object, key);
  if (member == nullptr || !member->is_array()) {
    return fail(ErrorCode::bad_message, fmt::format("the description has no list '{}'", key));
  }
  if (member->get_array().size() > kMaxTensors) {
    return fail(ErrorCode::bad_task, fmt::format("{} {}: at most {} are supported",
                                                 member->get_array().size(), key, kMaxTensors));
  }
  return &member->get_array();
}

Result<std::string> name_in(const Json& described) {
  std::string name = text_at(described, "name");
  if (name.empty() || name.size() > kMaxNameBytes) {
    return fail(ErrorCode::bad_message, "a tensor has no name, or one that is too long");
  }
  return name;
}

Result<Tensor> parse_tensor(const Json& described, std::vector<std::string>& taken) {
  Tensor tensor;
  std::string name = TRY(name_in(described));
  tensor.name = unique_identifier(name, taken);
  tensor.dtype = TRY(dtype_named(text_at(described, "dtype")));
  const Json* shape = member_at(described, "shape");
  if (shape == nullptr || !shape->is_array() || shape->get_array().size() > kMaxDimensions) {
    return fail(ErrorCode::bad_message,
                "'" + printable(name) + "' has no shape, or one with too many axes");
  }
  tensor.elements = 1;
  for (const Json& length : shape->get_array()) {
    if (!length.is_int64() || length.get_int64() < 0) {
      return fail(ErrorCode::bad_message,
                  "'" + printable(name) + "' has a shape with other elements than integers");
    }
    std::int64_t n = length.get_int64();
    if (n == 0) return fail(ErrorCode::bad_task, "'" + printable(name) + "' is empty");
    if (n > kMaxElements / tensor.elements) {
      return fail(ErrorCode::bad_task, "'" + printable(name) + "' is too large to be judged",
                  "make it smaller with --shape NAME=N");
    }
    tensor.elements *= n;
    tensor.shape.push_back(n);
  }
  return tensor;
}

}  // namespace

Result<Description> parse_description(std::string_view json) {
  Json described = TRY(parse_json(json));
  Description description;
  description.json = json;
  description.torch = printable(text_at(described, "torch"));
  description.deterministic = flag_at(described, "deterministic");
  description.in_double = flag_at(described, "double");
  std::vector<std::string> taken;
  for (const Json& one : *TRY(list_at(described, "arguments"))) {
    const Json* value = member_at(one, "value");
    ForwardArgument argument{.name = {}, .is_tensor = value == nullptr};
    if (argument.is_tensor) {
      Tensor tensor = TRY(parse_tensor(one, taken));
      argument.name = tensor.name;
      description.inputs.push_back(std::move(tensor));
    } else {
      if (!value->is_null() && !value->is_number() && !value->is_bool()) {
        return fail(ErrorCode::bad_message, "an argument is neither a tensor nor a number");
      }
      argument.name = unique_identifier(TRY(name_in(one)), taken);
      argument.value_json = compact_json(*value);
      if (value->is_number()) argument.number = value->to_number<double>();
      if (value->is_bool()) argument.number = value->get_bool() ? 1 : 0;
    }
    description.arguments.push_back(std::move(argument));
  }
  for (const Json& one : *TRY(list_at(described, "parameters"))) {
    description.parameters.push_back(TRY(parse_tensor(one, taken)));
    description.parameter_names.push_back(text_at(one, "name"));
  }
  for (const Json& one : *TRY(list_at(described, "outputs"))) {
    description.outputs.push_back(TRY(parse_tensor(one, taken)));
  }
  if (description.inputs.empty() || description.outputs.empty()) {
    return fail(ErrorCode::bad_task, "there is no input tensor, or no output tensor");
  }
  return description;
}

std::string entry_name(const std::filesystem::path& problem) {
  std::string stem = problem.stem().string();
  std::size_t start = stem.find_first_not_of("0123456789_");
  stem = start == std::string::npos ? "task" : stem.substr(start);
  while (stem.ends_with('_')) stem.pop_back();
  std::ranges::transform(stem, stem.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string name = identifier_of(stem);
  if (std::ranges::find(kLibraryNames, name) != kLibraryNames.end()) name += "_task";
  return name;
}

}  // namespace specgen
