#include "evaluate/task/expression.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxCharacters = 1000;
constexpr int kMaxDepth = 50;
constexpr std::size_t kMaxShown = 80;

enum class Operation : std::uint8_t {
  literal,
  name,
  negate,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  ceildiv,
  min,
  max
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return is_letter(c) || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '.';
}

// Text from anywhere, fit for one line of a terminal.
std::string shown(std::string_view text) {
  std::string safe(text.substr(0, kMaxShown));
  for (char& c : safe) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > kMaxShown ? safe + "..." : safe;
}

// Nothing for what no int64 holds, and for x / 0.
std::optional<std::int64_t> calculate(Operation operation, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (operation) {
    case Operation::add:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case Operation::subtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case Operation::multiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case Operation::min:
      return std::min(left, right);
    case Operation::max:
      return std::max(left, right);
    default:
      if (right == 0) return std::nullopt;
      if (right == -1) {  // the least int64 over -1 overflows, and traps even for %
        if (operation == Operation::remainder) return 0;
        overflow = __builtin_sub_overflow(std::int64_t{0}, left, &result);
        break;
      }
      if (operation == Operation::remainder) return left % right;
      result = left / right;
      if (operation == Operation::ceildiv && left % right != 0 && (left < 0) == (right < 0)) {
        ++result;
      }
  }
  if (overflow) return std::nullopt;
  return result;
}

}  // namespace

struct Expression::Step {
  Operation operation = Operation::literal;
  std::int64_t operand = 0;  // literal: its value; name: which of names_
};

// Descends once through the text and writes the steps down in the order of a stack machine, so that
// neither evaluation nor destruction recurses.
class Expression::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Expression> parse() {
    TRY(sum());
    if (at_ < text_.size()) return wrong("an operator is expected");
    Expression expression;
    expression.steps_ = std::make_shared<const std::vector<Step>>(std::move(steps_));
    expression.names_ = std::move(names_);
    expression.text_ = text_;
    return expression;
  }

 private:
  std::unexpected<Error> wrong(std::string_view why) const {
    return fail(ErrorCode::bad_expression,
                fmt::format("'{}' at {}: {}", shown(text_), at_ + 1, why));
  }

  char next() {  // 0 at the end
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Result<void> expect(char c) {
    if (next() != c || at_ == text_.size()) return wrong(fmt::format("'{}' is expected", c));
    ++at_;
    return {};
  }

  Result<void> sum() {
    TRY(product());
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      ++at_;
      TRY(product());
      steps_.push_back({c == '+' ? Operation::add : Operation::subtract});
    }
    return {};
  }

  Result<void> product() {
    TRY(factor());
    for (char c = next(); c == '*' || c == '/' || c == '%'; c = next()) {
      ++at_;
      TRY(factor());
      steps_.push_back({c == '*'   ? Operation::multiply
                        : c == '/' ? Operation::divide
                                   : Operation::remainder});
    }
    return {};
  }

  Result<void> factor() {
    if (++depth_ > kMaxDepth) return wrong(fmt::format("nested deeper than {}", kMaxDepth));
    char c = next();
    if (c == '-') {
      ++at_;
      TRY(factor());
      steps_.push_back({Operation::negate});
    } else if (c == '(') {
      ++at_;
      TRY(sum());
      TRY(expect(')'));
    } else if (is_digit(c)) {
      TRY(literal());
    } else if (begins_name(c)) {
      TRY(name_or_call());
    } else {
      return wrong("a number, a name or '(' is expected");
    }
    --depth_;
    return {};
  }

  Result<void> literal() {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) return wrong("the number is too large");
    std::size_t after = at_ + static_cast<std::size_t>(end - begin);
    if (after < text_.size() && continues_name(text_[after])) {
      return wrong("an integer is expected");
    }
    at_ = after;
    steps_.push_back({Operation::literal, value});
    return {};
  }

  Result<void> name_or_call() {
    std::size_t start = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    std::string_view name = text_.substr(start, at_ - start);
    if (next() == '(') return call(name, start);
    auto found = std::ranges::find(names_, name);
    steps_.push_back({Operation::name, found - names_.begin()});
    if (found == names_.end()) names_.emplace_back(name);
    return {};
  }

  Result<void> call(std::string_view name, std::size_t start) {
    Operation operation = name == "ceildiv" ? Operation::ceildiv
                          : name == "min"   ? Operation::min
                          : name == "max"   ? Operation::max
                                            : Operation::literal;
    if (operation == Operation::literal) {
      at_ = start;
      return wrong(fmt::format("there is no function '{}', only ceildiv, min, max", shown(name)));
    }
    TRY(expect('('));
    TRY(sum());
    TRY(expect(','));
    TRY(sum());
    TRY(expect(')'));
    steps_.push_back({operation});
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Step> steps_;
  std::vector<std::string> names_;
};

Expression::Expression() : Expression(0) {}

Expression::Expression(std::int64_t value)
    : steps_(std::make_shared<const std::vector<Step>>(1, Step{Operation::literal, value})),
      text_(std::to_string(value)) {}

Expression Expression::constant(std::int64_t value) {
  return Expression(value);
}

Result<Expression> Expression::parse(std::string_view text) {
  if (text.size() > kMaxCharacters) {
    return fail(ErrorCode::bad_expression, fmt::format("'{}' has {} characters; {} are allowed",
                                                       shown(text), text.size(), kMaxCharacters));
  }
  return Parser(text).parse();
}

Result<std::int64_t> Expression::evaluate(const Values& values) const {
  auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::bad_expression, fmt::format("'{}': {}", shown(text_), why));
  };
  std::vector<std::int64_t> operands;
  for (const std::string& name : names_) {
    auto found = values.find(name);
    if (found == values.end()) {
      std::vector<std::string> known;
      for (const auto& [each, _] : values) known.push_back(each);
      return wrong(fmt::format("'{}' is not known{}", shown(name), did_you_mean(name, known)));
    }
    operands.push_back(found->second);
  }
  std::vector<std::int64_t> stack;
  for (const Step& step : *steps_) {
    if (step.operation == Operation::literal) {
      stack.push_back(step.operand);
    } else if (step.operation == Operation::name) {
      stack.push_back(operands[static_cast<std::size_t>(step.operand)]);
    } else {
      bool unary = step.operation == Operation::negate;
      std::int64_t right = stack.back();
      stack.pop_back();
      std::int64_t left = unary ? 0 : std::exchange(stack.back(), 0);
      if (unary) stack.push_back(0);
      auto result = calculate(unary ? Operation::subtract : step.operation, left, right);
      if (!result) {
        bool divides = step.operation == Operation::divide ||
                       step.operation == Operation::remainder ||
                       step.operation == Operation::ceildiv;
        return wrong(divides && right == 0 ? "division by zero" : "the result is too large");
      }
      stack.back() = *result;
    }
  }
  return stack.back();
}

}  // namespace specgen
