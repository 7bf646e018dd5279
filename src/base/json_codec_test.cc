#include "base/json_codec.h"

#include <gtest/gtest.h>

namespace specgen {

struct CodecTag {
  static constexpr char prefix = 't';
};

enum class Colour : std::uint8_t { red, green };
BOOST_DESCRIBE_ENUM(Colour, red, green)
constexpr auto retired_names(const Colour*) {
  return std::array{std::pair{std::string_view("verdant"), Colour::green}};
}
std::string_view to_string(Colour colour) {
  return enum_name(colour);
}
bool from_name(std::string_view name, Colour& colour) {
  return enum_from_name(name, colour);
}

struct Point {
  int x = 0;
  int y = 0;
  std::string label = {};
  friend bool operator==(const Point&, const Point&) = default;
};
BOOST_DESCRIBE_STRUCT(Point, (), (x, y, label))

struct Limits {
  Duration wall{};
  std::int64_t tokens = 0;
  friend bool operator==(const Limits&, const Limits&) = default;
};
BOOST_DESCRIBE_STRUCT(Limits, (), (wall, tokens))
constexpr auto json_fields(const Limits*) {
  return std::array{JsonField<Limits>{.member = "wall", .key = "wall_us"}};
}

// Read and written as a row.
struct Stretch {
  std::string name = {};
  Time begin = {};
  Time end = {};
  std::string host = {};
  friend bool operator==(const Stretch&, const Stretch&) = default;
};
BOOST_DESCRIBE_STRUCT(Stretch, (), (name, begin, end, host))
Json to_json(const Stretch& stretch) {
  return encode_row(stretch);
}
Result<void> from_json(const Json& json, Stretch& stretch) {
  return decode_row(json, stretch, 3);
}

struct Everything {
  Id<CodecTag> id = {};
  Colour colour = Colour::red;
  bool flag = false;
  std::uint64_t seed = 0;
  std::uint8_t small = 0;
  double ratio = -1;
  double time_seconds = 0;
  Duration took{};
  std::string text = {};
  std::string raw = "null";
  ArtifactId artifact = {};
  std::optional<double> maybe = {};
  std::optional<Point> point = {};
  std::vector<Point> points = {};
  std::map<std::string, std::int64_t> values = {};
  std::map<Colour, std::uint64_t> counts = {};
  std::vector<Stretch> stretches = {};
  Limits limits = {};
  friend bool operator==(const Everything&, const Everything&) = default;
};
BOOST_DESCRIBE_STRUCT(Everything, (),
                      (id, colour, flag, seed, small, ratio, time_seconds, took, text, raw,
                       artifact, maybe, point, points, values, counts, stretches, limits))
constexpr auto json_fields(const Everything*) {
  using Field = JsonField<Everything>;
  return std::array{
      Field{.member = "id", .required = true},
      Field{.member = "flag", .when_empty = WhenEmpty::omit},
      Field{.member = "seed", .may_wrap = true},
      Field{.member = "ratio", .is_known = [](const Everything& it) { return it.ratio >= 0; }},
      Field{.member = "time_seconds", .key = "time_us", .scale = 1e6},
      Field{.member = "took", .key = "took_ms", .scale = 1e3},
      Field{.member = "text", .key = "note", .old_keys = {"remark", "comment"}},
      Field{.member = "raw", .is_json_text = true},
      Field{.member = "artifact", .when_empty = WhenEmpty::null},
      Field{.member = "limits", .is_inlined = true}};
}

namespace {

Everything filled() {
  return {.id = {7},
          .colour = Colour::green,
          .flag = true,
          .seed = ~0ull,
          .small = 255,
          .ratio = 0.1,
          .time_seconds = 2e-6,
          .took = std::chrono::milliseconds(3),
          .text = "hello",
          .raw = R"({"a":[1,2]})",
          .artifact = {"abc"},
          .maybe = 1.5,
          .point = Point{1, 2, "p"},
          .points = {{3, 4, "q"}, {}},
          .values = {{"B", 32}},
          .counts = {{Colour::red, 9}},
          .stretches = {{"s", Time(std::chrono::microseconds(5)),
                         Time(std::chrono::microseconds(6)), "h"}},
          .limits = {.wall = std::chrono::seconds(1), .tokens = 10}};
}

Result<Everything> read(std::string_view text) {
  return decode<Everything>(parse_json(text).value());
}

std::string error_of(std::string_view text) {
  auto result = read(text);
  if (result) return "no error";
  EXPECT_EQ(result.error().code, ErrorCode::bad_json);
  return result.error().context;
}

TEST(JsonCodec, what_is_written_is_read_back_equal) {
  auto back = decode<Everything>(parse_json(compact_json(encode(filled()))).value());
  ASSERT_TRUE(back.has_value()) << back.error().context;
  EXPECT_EQ(*back, filled());
  Everything defaults{.id = {1}};
  auto empty = decode<Everything>(encode(defaults));
  ASSERT_TRUE(empty.has_value()) << empty.error().context;
  EXPECT_EQ(*empty, defaults);
}

TEST(JsonCodec, keys_units_and_empty_members_are_as_described) {
  Json json = encode(filled());
  EXPECT_EQ(number_at(json, "time_us"), 2.0);
  EXPECT_EQ(number_at(json, "took_ms"), 3.0);
  EXPECT_EQ(int_at(json, "wall_us"), 1'000'000) << "an inlined struct";
  EXPECT_EQ(text_at(json, "note"), "hello");
  EXPECT_EQ(compact_json(*member_at(json, "stretches")), R"([["s",5,6,"h"]])");
  EXPECT_EQ(compact_json(*member_at(json, "counts")), R"({"red":9})");
  EXPECT_EQ(compact_json(*member_at(json, "raw")), R"({"a":[1,2]})");
  Json empty = encode(Everything{.id = {1}});
  EXPECT_EQ(member_at(empty, "flag"), nullptr);
  ASSERT_NE(member_at(empty, "ratio"), nullptr);
  EXPECT_TRUE(member_at(empty, "ratio")->is_null());
  EXPECT_TRUE(member_at(empty, "artifact")->is_null());
  EXPECT_TRUE(member_at(empty, "maybe")->is_null());
}

TEST(JsonCodec, numbers_that_json_does_not_have_are_null) {
  Everything infinite{.id = {1}, .ratio = std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(member_at(encode(infinite), "ratio")->is_null());
}

TEST(JsonCodec, reads_retired_keys_and_names_and_ignores_added_keys) {
  auto old = read(R"({"id":1,"remark":"old","colour":"verdant","added_later":{"x":1}})");
  ASSERT_TRUE(old.has_value()) << old.error().context;
  EXPECT_EQ(old->text, "old");
  EXPECT_EQ(old->colour, Colour::green);
  EXPECT_EQ(read(R"({"id":1,"seed":-1})")->seed, ~0ull);
  EXPECT_EQ(read(R"({"id":1,"stretches":[["s",1,2]]})")->stretches.at(0).host, "")
      << "rows may grow at their end";
}

TEST(JsonCodec, missing_and_null_members_keep_their_defaults_unless_required) {
  EXPECT_EQ(read(R"({"id":1,"ratio":null,"text":null})")->ratio, -1);
  EXPECT_EQ(error_of(R"({"text":"x"})"), "id: missing");
  EXPECT_EQ(error_of(R"({"id":null})"), "id: missing");
}

TEST(JsonCodec, an_error_names_the_path) {
  EXPECT_EQ(error_of(R"([1])"), "expected an object, found an array");
  EXPECT_EQ(error_of(R"({"id":1,"colour":"blue"})"), "colour: unknown value 'blue'");
  EXPECT_EQ(error_of(R"({"id":1,"counts":{"blue":1}})"), "counts: unknown key 'blue'");
  EXPECT_EQ(error_of(R"({"id":1,"flag":1})"), "flag: expected true or false, found an integer");
  EXPECT_EQ(error_of(R"({"id":1,"points":[{},{"x":"1"}]})"),
            "points[1].x: expected an integer, found a string");
  EXPECT_EQ(error_of(R"({"id":1,"point":{"label":5}})"),
            "point.label: expected a string, found an integer");
  EXPECT_EQ(error_of(R"({"id":1,"stretches":[["s"]]})"), "stretches[0]: the array is too short");
  EXPECT_EQ(error_of(R"({"id":1,"values":{"B":1.5}})"),
            "values.B: expected an integer, found a number");
}

TEST(JsonCodec, a_number_out_of_range_is_an_error) {
  EXPECT_EQ(error_of(R"({"id":1,"small":256})"), "small: number 256 is out of range");
  EXPECT_EQ(error_of(R"({"id":-1})"), "id: number -1 is out of range");
  EXPECT_EQ(error_of(R"({"id":1,"tokens":18446744073709551615})"),
            "tokens: number 18446744073709551615 is out of range");
}

}  // namespace
}  // namespace specgen
