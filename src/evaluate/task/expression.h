#pragma once
// Integer expressions over named values, in task.toml and in `specgen:` lines:
//   4*BLOCK + ceildiv(cols, 32) % 7 - min(rows, 8)      operators + - * / %, ceildiv, min, max, ( )
// Division rounds towards zero, ceildiv upwards. Overflow and division by zero are errors, never
// undefined. Text (1000 characters) and depth (50) are limited, so that hostile input is cheap. Copies
// share the parsed form.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

using Values = std::map<std::string, std::int64_t, std::less<>>;

class Expression {
 public:
  Expression();  // 0
  static Expression constant(std::int64_t value);
  // ErrorCode::bad_expression; the context says where: "'ceildiv(cols' at 13: ',' is expected".
  static Result<Expression> parse(std::string_view text);

  // ErrorCode::bad_expression for an unknown name (with the nearest known one), overflow, x/0.
  Result<std::int64_t> evaluate(const Values& values) const;
  const std::vector<std::string>& names() const { return names_; }  // that it uses, each once
  const std::string& text() const { return text_; }

 private:
  struct Step;  // of a stack machine: an operand, or an operator on the topmost two
  class Parser;
  explicit Expression(std::int64_t value);
  std::shared_ptr<const std::vector<Step>> steps_;
  std::vector<std::string> names_;
  std::string text_;
};

}  // namespace specgen
