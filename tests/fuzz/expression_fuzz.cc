// Any bytes as an expression: an error, or a value that brackets around it do not change.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "evaluate/task/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto expression = specgen::Expression::parse(text);
  if (!expression) return 0;
  specgen::Values values;
  std::uint64_t number = 1;  // wraps, and so comes by every size and sign
  for (const std::string& name : expression->names()) {
    number *= 7;
    values[name] = static_cast<std::int64_t>(number);
  }
  auto value = expression->evaluate(values);
  auto in_brackets = specgen::Expression::parse("(" + text + ")");
  if (!in_brackets) return 0;  // at the limit of length or depth
  auto same = in_brackets->evaluate(values);
  if (value.has_value() != same.has_value() || (value && *value != *same)) std::abort();
  return 0;
}
