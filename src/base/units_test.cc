#include "base/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace specgen {
namespace {

using namespace std::chrono_literals;

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

TEST(Units, a_duration_has_three_digits_and_a_unit) {
  EXPECT_EQ(format_duration(0ns), "0 s");
  EXPECT_EQ(format_duration(7ns), "7.00 ns");
  EXPECT_EQ(format_duration(12'340ns), "12.3 us");
  EXPECT_EQ(format_duration(1'234us), "1.23 ms");
  EXPECT_EQ(format_duration(250ms), "250 ms");
  EXPECT_EQ(format_duration(-1500ms), "-1.50 s");
}

TEST(Units, rounding_up_a_duration_goes_to_the_next_unit) {
  EXPECT_EQ(format_duration(999'400us), "999 ms");
  EXPECT_EQ(format_duration(999'960us), "1.00 s");
  EXPECT_EQ(format_duration(999'960ns), "1.00 ms");
  EXPECT_EQ(format_duration(9'994us), "9.99 ms");
  EXPECT_EQ(format_duration(9'996us), "10.0 ms");
  EXPECT_EQ(format_duration(99'960us), "100 ms");
}

TEST(Units, long_durations_read_like_a_clock) {
  EXPECT_EQ(format_duration(99'900ms), "99.9 s");
  EXPECT_EQ(format_duration(99'960ms), "1m40s");
  EXPECT_EQ(format_duration(605s), "10m05s");
  EXPECT_EQ(format_duration(3599s), "59m59s");
  EXPECT_EQ(format_duration(3'599'600ms), "1h00m");
  EXPECT_EQ(format_duration(7'199s), "2h00m");
  EXPECT_EQ(format_duration(26h + 3min), "26h03m");
}

TEST(Units, sizes_count_in_steps_of_1024) {
  EXPECT_EQ(format_bytes({0}), "0 B");
  EXPECT_EQ(format_bytes({1023}), "1023 B");
  EXPECT_EQ(format_bytes({1024}), "1.00 KiB");
  EXPECT_EQ(format_bytes({1536}), "1.50 KiB");
  EXPECT_EQ(format_bytes(KiB(1000)), "1000 KiB");
  EXPECT_EQ(format_bytes(GiB(4)), "4.00 GiB");
  EXPECT_EQ(format_bytes({std::numeric_limits<std::uint64_t>::max()}), "16777216 TiB");
}

TEST(Units, rounding_up_a_size_goes_to_the_next_unit) {
  EXPECT_EQ(format_bytes({1023 * 1024}), "1023 KiB");
  EXPECT_EQ(format_bytes({1023 * 1024 + 922}), "1.00 MiB");  // 1023.9 KiB
  EXPECT_EQ(format_bytes({9 * 1024 + 1020}), "10.0 KiB");
}

TEST(Units, counts_have_a_letter_only_when_they_are_large) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(2.5), "2.50");
  EXPECT_EQ(format_count(999.6), "1.00 k");
  EXPECT_EQ(format_count(12'345), "12.3 k");
  EXPECT_EQ(format_count(12'300'000), "12.3 M");
  EXPECT_EQ(format_count(-4.2e9), "-4.20 G");
}

TEST(Units, durations_are_parsed_with_units) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration(" 90s\n").value(), 90s);
  EXPECT_EQ(parse_duration("2d").value(), 48h);
  EXPECT_EQ(parse_duration("0s").value(), 0ns);
}

TEST(Units, an_invalid_duration_is_refused_with_an_example) {
  for (const char* text :
       {"", " ", "90", "s", "1m30", "-5s", "5x", "5S", "1h,30m", "inf", "nans"}) {
    SCOPED_TRACE(text);
    Result<Duration> parsed = parse_duration(text);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_usage);
    EXPECT_NE(parsed.error().context.find(text), std::string::npos);
    EXPECT_NE(parsed.error().what_to_do().find("1h30m"), std::string::npos);
  }
}

TEST(Units, sizes_are_parsed_with_long_short_or_no_units) {
  EXPECT_EQ(parse_bytes("512").value(), Bytes{512});
  EXPECT_EQ(parse_bytes("512B").value(), Bytes{512});
  EXPECT_EQ(parse_bytes("64KiB").value(), KiB(64));
  EXPECT_EQ(parse_bytes("4G").value(), GiB(4));
  EXPECT_EQ(parse_bytes("1.5GiB").value(), MiB(1536));
  EXPECT_EQ(parse_bytes("2T").value(), GiB(2048));
}

TEST(Units, an_invalid_size_is_refused_with_the_known_units) {
  for (const char* text : {"", "GiB", "-1", "4GB", "4 G x", "9000000T", "1G2M", "nan"}) {
    SCOPED_TRACE(text);
    Result<Bytes> parsed = parse_bytes(text);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_usage);
    EXPECT_NE(parsed.error().what_to_do().find("GiB"), std::string::npos);
  }
}

TEST(Units, formatted_values_parse_back_to_three_digits) {
  for (Duration duration : {Duration(7ns), Duration(12'300ns), Duration(1'230us), Duration(250ms),
                            Duration(1500ms), Duration(605s), Duration(26h + 3min)}) {
    std::string text = without_spaces(format_duration(duration));
    EXPECT_EQ(parse_duration(text).value(), duration) << text;
  }
  for (Bytes bytes : {Bytes{1023}, KiB(1), Bytes{1536}, MiB(250), GiB(4)}) {
    std::string text = without_spaces(format_bytes(bytes));
    EXPECT_EQ(parse_bytes(text).value(), bytes) << text;
  }
}

TEST(Units, seconds_are_rounded_to_nanoseconds_and_saturate) {
  EXPECT_EQ(from_seconds(1.5), 1500ms);
  EXPECT_EQ(from_seconds(1e-9 * 2.6), 3ns);
  EXPECT_EQ(from_seconds(-0.25), -250ms);
  EXPECT_EQ(from_seconds(1e30), Duration::max());
  EXPECT_EQ(from_seconds(-1e30), Duration::min());
  EXPECT_EQ(parse_duration("1e30h").value(), Duration::max());
  EXPECT_DOUBLE_EQ(seconds(1500ms), 1.5);
}

}  // namespace
}  // namespace specgen
