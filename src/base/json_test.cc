#include "base/json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

namespace specgen {
namespace {

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, a_member_is_taken_only_if_it_has_the_type) {
  Json object = parse_json(R"({"name": "x", "works": true, "count": 1})").value();
  EXPECT_EQ(text_at(object, "name"), "x");
  EXPECT_EQ(text_at(object, "count"), "");
  EXPECT_EQ(text_at(object, "none"), "");
  EXPECT_TRUE(flag_at(object, "works"));
  EXPECT_FALSE(flag_at(object, "name"));
  EXPECT_FALSE(flag_at(parse_json("[]").value(), "works"));
}

TEST(Json, a_number_beyond_all_bounds_is_refused) {
  EXPECT_FALSE(parse_json("1e999"));
  EXPECT_EQ(parse_json("1e-999").value().as_double(), 0);
}

TEST(Json, a_fraction_comes_back_to_the_last_bit) {
  for (const char* text : {"0.1", "4444445588588555888885544", "1.7976931348623157e308", "5e-324",
                           "-0.30000000000000004"}) {
    double read = parse_json(text).value().as_double();
    EXPECT_EQ(read, std::strtod(text, nullptr)) << text;
    EXPECT_EQ(parse_json(pretty_json(read)).value().as_double(), read) << text;
  }
}

TEST(Json, what_is_not_json_is_an_error_that_says_why) {
  for (const char* text : {"", "{", "[1,]", "{'a': 1}", "1 2", "nul", "\"\xff\""}) {
    SCOPED_TRACE(text);
    Result<Json> parsed = parse_json(text);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_json);
    EXPECT_FALSE(parsed.error().context.empty());
  }
}

TEST(Json, an_error_names_the_place) {
  EXPECT_NE(parse_json("{\n  \"a\": tru\n}").error().context.find("line 2"), std::string::npos);
  EXPECT_NE(parse_json("{}\n\n{}").error().context.find("line 3"), std::string::npos);
}

TEST(Json, nesting_has_a_limit) {
  EXPECT_TRUE(parse_json(nested(64)).has_value());
  EXPECT_FALSE(parse_json(nested(65)).has_value());
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')).has_value());
}

TEST(Json, pretty_is_indented_by_two_with_keys_in_the_order_they_came) {
  boost::json::object speedup{{"median", 1.25}, {"low", 1.5}, {"high", 2}};
  boost::json::object empty;
  Json value = boost::json::object{{"task", "row \"softmax\""},
                                   {"speedup", speedup},
                                   {"marks", boost::json::array{"fixed-shape", nullptr}},
                                   {"none", boost::json::array{}},
                                   {"nothing", empty}};
  EXPECT_EQ(pretty_json(value), R"({
  "task": "row \"softmax\"",
  "speedup": {
    "median": 1.25,
    "low": 1.5,
    "high": 2
  },
  "marks": [
    "fixed-shape",
    null
  ],
  "none": [],
  "nothing": {}
}
)");
}

TEST(Json, pretty_reads_back_as_the_same_value_and_prints_the_same_again) {
  Json value = parse_json(R"({"b": [1, -2, 0.1, 1e300, 5e-324, true, null, "\u0007\u00fc\n"],
                              "a": {"deep": [[], {}, [{"x": 18446744073709551615}]]}})")
                   .value();
  std::string pretty = pretty_json(value);
  Json again = parse_json(pretty).value();
  EXPECT_EQ(again, value);
  EXPECT_EQ(pretty_json(again), pretty);
}

TEST(Json, a_fraction_that_happens_to_be_whole_stays_a_fraction) {
  for (double number : {1.0, -3.0, 0.0, 1e15}) {
    Json value(number);
    EXPECT_EQ(parse_json(pretty_json(value)).value(), value) << pretty_json(value);
  }
}

TEST(Json, a_number_that_json_does_not_have_is_null) {
  EXPECT_EQ(pretty_json(Json(std::numeric_limits<double>::infinity())), "null\n");
  EXPECT_EQ(pretty_json(Json(std::numeric_limits<double>::quiet_NaN())), "null\n");
}

TEST(Json, members_are_read_or_replaced) {
  auto json = parse_json(R"({"n": 7, "x": 1.5, "t": "yes"})");
  ASSERT_TRUE(json);
  EXPECT_EQ(int_at(*json, "n"), 7);
  EXPECT_EQ(int_at(*json, "x", -1), -1);
  EXPECT_EQ(number_at(*json, "x"), 1.5);
  EXPECT_EQ(number_at(*json, "n"), 7.0);
  EXPECT_EQ(number_at(*json, "t", 2.0), 2.0);
  EXPECT_EQ(member_at(*json, "none"), nullptr);
  EXPECT_EQ(member_at(Json("text"), "n"), nullptr);
  EXPECT_EQ(compact_json(*json), R"({"n":7,"x":1.5E0,"t":"yes"})");
}

TEST(Json, bytes_that_are_no_text_do_not_break_the_document) {
  Json json = {{"a\xff", "x\xc3y\xed\xa0\x80"}};
  for (const std::string& text : {compact_json(json), pretty_json(json)}) {
    auto back = parse_json(text);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(text_at(*back, "a\xEF\xBF\xBD"),
              "x\xEF\xBF\xBDy\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  }
}

TEST(Json, what_is_no_finite_number_is_null) {
  EXPECT_TRUE(finite_or_null(0.0 / 0.0).is_null());
  EXPECT_TRUE(finite_or_null(1.0 / 0.0).is_null());
  EXPECT_EQ(finite_or_null(0.5), Json(0.5));
}

}  // namespace
}  // namespace specgen
