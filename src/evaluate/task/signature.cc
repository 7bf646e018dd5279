#include "evaluate/task/signature.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace specgen {
namespace {

// Keywords of C++20 that are words, and the names of the parameters that the harness adds.
constexpr auto kReserved = std::to_array<std::string_view>(
    {"alignas",   "alignof",   "and",       "asm",       "auto",     "bool",       "break",
     "case",      "catch",     "char",      "class",     "compl",    "concept",    "const",
     "consteval", "continue",  "co_await",  "co_return", "co_yield", "decltype",   "default",
     "delete",    "do",        "double",    "else",      "enum",     "explicit",   "export",
     "extern",    "false",     "float",     "for",       "friend",   "goto",       "if",
     "inline",    "int",       "int64_t",   "long",      "mutable",  "namespace",  "new",
     "noexcept",  "not",       "nthreads",  "nullptr",   "operator", "or",         "private",
     "protected", "public",    "register",  "requires",  "return",   "scratch",    "short",
     "signed",    "sizeof",    "static",    "struct",    "switch",   "template",   "this",
     "throw",     "tid",       "true",      "try",       "typedef",  "typeid",     "typename",
     "union",     "unsigned",  "using",     "virtual",   "void",     "volatile",   "while",
     "xor",       "constexpr", "constinit", "char8_t",   "wchar_t",  "static_cast"});

bool is_word(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

struct Parameter {
  std::string type;
  std::string name;
};

// Those of the task, without what the harness adds.
std::vector<Parameter> parameters_of(const KernelTask& task) {
  std::vector<Parameter> all;
  for (const TensorSpec& input : task.inputs) {
    all.push_back({fmt::format("const {}*", cpu_type(input.dtype)), input.name});
  }
  for (const TensorSpec& output : task.outputs) {
    all.push_back({fmt::format("{}*", cpu_type(output.dtype)), output.name});
  }
  for (const AxisSpec& axis : task.axes) all.push_back({"int64_t", axis.name});
  for (const ScalarSpec& scalar : task.scalars) all.push_back({"double", scalar.name});
  return all;
}

std::string declaration(const KernelTask& task, std::vector<std::string> parameters,
                        std::string_view added_by_harness) {
  parameters.emplace_back(added_by_harness);
  return fmt::format("extern \"C\" void {}({});", task.name, join(parameters, ", "));
}

}  // namespace

std::string identifier_of(std::string_view text) {
  std::string name;
  for (char c : text) name += is_word(c) ? c : '_';
  if (name.empty()) name = "name";
  if (name[0] >= '0' && name[0] <= '9') name.insert(0, "_");
  if (std::ranges::find(kReserved, name) != kReserved.end()) name += '_';
  return name;
}

std::string unique_identifier(std::string_view text, std::vector<std::string>& taken) {
  std::string name = identifier_of(text);
  while (std::ranges::find(taken, name) != taken.end()) name += '_';
  taken.push_back(name);
  return name;
}

std::string cpu_signature(const KernelTask& task) {
  std::vector<std::string> taken, parameters;
  for (const Parameter& each : parameters_of(task)) {
    parameters.push_back(each.type + " " + unique_identifier(each.name, taken));
  }
  return declaration(task, std::move(parameters), "void* scratch, int tid, int nthreads");
}

std::string cpu_declaration(const KernelTask& task) {
  std::vector<std::string> parameters;
  for (const Parameter& each : parameters_of(task)) parameters.push_back(each.type);
  return declaration(task, std::move(parameters), "void*, int, int");
}

}  // namespace specgen
