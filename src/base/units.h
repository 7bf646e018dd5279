#pragma once
// Durations, points in time and sizes, and their text forms.
// Time is defined by the Driver: nanoseconds since some moment in the past. It never jumps and is not a
// date. WallTime is a date; it may jump and is for display only.

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

using Duration = std::chrono::nanoseconds;

struct DriverClock {  // a tag without now(): only a Driver knows the time
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<DriverClock>;
};
using Time = DriverClock::time_point;

struct WallTime {
  std::int64_t ms_since_1970 = 0;
  friend auto operator<=>(WallTime, WallTime) = default;
};

inline double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
Duration from_seconds(double seconds);

struct Bytes {
  std::uint64_t count = 0;
  friend auto operator<=>(Bytes, Bytes) = default;
};
inline constexpr Bytes KiB(std::uint64_t n) {
  return {n << 10};
}
inline constexpr Bytes MiB(std::uint64_t n) {
  return {n << 20};
}
inline constexpr Bytes GiB(std::uint64_t n) {
  return {n << 30};
}

// For display: three significant digits and a unit, "1.23 ms", "4.00 GiB", "12.3 M".
std::string format_duration(Duration duration);
std::string format_bytes(Bytes bytes);
std::string format_count(double count);

// User input: "250ms", "90s", "1h30m"; "512", "64KiB", "4GiB", "1.5G". A number without a unit is not
// a duration.
Result<Duration> parse_duration(std::string_view text);
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace specgen
