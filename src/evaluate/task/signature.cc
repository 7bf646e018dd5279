#include "evaluate/task/signature.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace specgen {
namespace {

// Those of C++20 that are not punctuation, and names that the harness gives itself.
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
  std::vector<std::string> taken;
  std::string text = "extern \"C\" void " + task.name + "(";
  for (const TensorSpec& input : task.inputs) {
    text += "const " + std::string(cpu_type(input.dtype)) + "* ";
    text += unique_identifier(input.name, taken) + ", ";
  }
  for (const TensorSpec& output : task.outputs) {
    text += std::string(cpu_type(output.dtype)) + "* " + unique_identifier(output.name, taken);
    text += ", ";
  }
  for (const AxisSpec& axis : task.axes)
    text += "int64_t " + unique_identifier(axis.name, taken) + ", ";
  for (const ScalarSpec& one : task.scalars) {
    text += "double " + unique_identifier(one.name, taken) + ", ";
  }
  return text + "void* scratch, int tid, int nthreads);";
}

}  // namespace specgen
