#include "evaluate/task/expression.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace specgen {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

const Values kValues{{"rows", 64}, {"cols", 1000}, {"x.0", 3}, {"most", kMax}, {"least", kMin}};

std::int64_t value_of(std::string_view text) {
  auto expression = Expression::parse(text);
  EXPECT_TRUE(expression) << text << ": " << (expression ? "" : expression.error().summary());
  if (!expression) return -1;
  auto value = expression->evaluate(kValues);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().summary());
  return value.value_or(-1);
}

std::string mistake_of(std::string_view text) {
  auto expression = Expression::parse(text);
  auto value = expression ? expression->evaluate(kValues) : std::unexpected(expression.error());
  if (value) return "none";
  EXPECT_EQ(value.error().code, ErrorCode::bad_expression);
  return value.error().context;
}

TEST(Expression, operators_bind_as_in_arithmetic) {
  EXPECT_EQ(value_of("2 + 3 * 4"), 14);
  EXPECT_EQ(value_of("(2 + 3) * 4"), 20);
  EXPECT_EQ(value_of("20 - 3 - 4"), 13);
  EXPECT_EQ(value_of("100 / 7 / 2"), 7);
  EXPECT_EQ(value_of("100 % 7 * 2"), 4);
  EXPECT_EQ(value_of("-2 * 3 - -4"), -2);
  EXPECT_EQ(value_of("\t4*rows+ceildiv( cols,32 ) % 7 - min(rows, 8)"), 256 + 4 - 8);
  EXPECT_EQ(value_of("max(x.0, 2)"), 3);
}

TEST(Expression, division_rounds_towards_zero_and_ceildiv_upwards) {
  EXPECT_EQ(value_of("-7 / 2"), -3);
  EXPECT_EQ(value_of("-7 % 2"), -1);
  EXPECT_EQ(value_of("ceildiv(7, 2)"), 4);
  EXPECT_EQ(value_of("ceildiv(8, 2)"), 4);
  EXPECT_EQ(value_of("ceildiv(-7, 2)"), -3);
  EXPECT_EQ(value_of("ceildiv(-7, -2)"), 4);
  EXPECT_EQ(value_of("ceildiv(most, 2)"), kMax / 2 + 1);
  EXPECT_EQ(value_of("least % -1"), 0);
}

TEST(Expression, overflow_is_an_error_and_never_wraps) {
  for (const char* text : {"most + 1", "least - 1", "most * 2", "-least", "least / -1",
                           "ceildiv(least, -1)", "most * most * 0"}) {
    EXPECT_TRUE(mistake_of(text).ends_with("': the result is too large")) << text;
  }
  EXPECT_EQ(value_of("9223372036854775807"), kMax);
  EXPECT_EQ(mistake_of("9223372036854775808"),
            "'9223372036854775808' at 1: the number is too large");
}

TEST(Expression, division_by_zero_is_an_error) {
  EXPECT_EQ(mistake_of("rows / (cols - 1000)"), "'rows / (cols - 1000)': division by zero");
  EXPECT_EQ(mistake_of("rows % 0"), "'rows % 0': division by zero");
  EXPECT_EQ(mistake_of("ceildiv(1, 0)"), "'ceildiv(1, 0)': division by zero");
}

TEST(Expression, mistakes_say_where_they_are) {
  EXPECT_EQ(mistake_of("ceildiv(cols"), "'ceildiv(cols' at 13: ',' is expected");
  EXPECT_EQ(mistake_of("2 +"), "'2 +' at 4: a number, a name or '(' is expected");
  EXPECT_EQ(mistake_of(""), "'' at 1: a number, a name or '(' is expected");
  EXPECT_EQ(mistake_of("rows cols"), "'rows cols' at 6: an operator is expected");
  EXPECT_EQ(mistake_of("1.5"), "'1.5' at 1: an integer is expected");
  EXPECT_EQ(mistake_of("32x"), "'32x' at 1: an integer is expected");
  EXPECT_EQ(mistake_of("min(1, 2, 3)"), "'min(1, 2, 3)' at 9: ')' is expected");
  EXPECT_EQ(mistake_of("1 + abs(2)"),
            "'1 + abs(2)' at 5: there is no function 'abs', only ceildiv, min, max");
  EXPECT_EQ(mistake_of("rows + cosl"), "'rows + cosl': 'cosl' is not known; did you mean 'cols'?");
}

TEST(Expression, names_come_once_in_the_order_of_the_text) {
  auto expression = Expression::parse("cols * rows + cols").value();
  EXPECT_EQ(expression.names(), (std::vector<std::string>{"cols", "rows"}));
  EXPECT_EQ(expression.text(), "cols * rows + cols");
  EXPECT_EQ(Expression().evaluate({}).value(), 0);
  EXPECT_EQ(Expression::constant(-7).evaluate({}).value(), -7);
}

TEST(Expression, hostile_text_is_refused_at_once) {
  EXPECT_TRUE(mistake_of(std::string(1 << 20, '(')).contains("1000 are allowed"));
  EXPECT_TRUE(mistake_of(std::string(1000, '(')).contains("nested deeper than 50"));
  EXPECT_TRUE(mistake_of(std::string(999, '-') + "1").contains("nested deeper than 50"));
  EXPECT_EQ(value_of(std::string(49, '(') + "5" + std::string(49, ')')), 5);
  std::string sum = "1";
  while (sum.size() < 999) sum += "+1";
  EXPECT_EQ(value_of(sum), 500);
  std::string_view bytes("1 \0 2\x1b[2J\xff", 10);
  EXPECT_EQ(mistake_of(bytes), "'1 ? 2?[2J?' at 3: an operator is expected");
}

TEST(Expression, random_text_gives_a_value_or_an_error) {
  constexpr std::array<std::string_view, 20> kPieces{
      "(",  ")", "+",    "-",    "*",       "/",   "%",   ",",   "rows", "x.0",
      "17", "0", "most", "cosl", "ceildiv", "min", "max", "(1)", " ",    "\xff"};
  Random random(1);
  int values = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t pieces = random.below(9); pieces > 0; --pieces) {
      text += kPieces[random.below(kPieces.size())];
    }
    auto expression = Expression::parse(text);
    if (!expression) continue;
    auto value = expression->evaluate(kValues);
    values += value ? 1 : 0;
    auto in_brackets = Expression::parse("(" + text + ")").value().evaluate(kValues);
    EXPECT_EQ(value.has_value(), in_brackets.has_value()) << text;
    if (value) EXPECT_EQ(*value, *in_brackets) << text;
  }
  EXPECT_GT(values, 500);
}

}  // namespace
}  // namespace specgen
