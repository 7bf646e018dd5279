#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"

namespace specgen {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};

constexpr std::array kDurationUnits{Unit{"ns", 1e-9},  Unit{"us", 1e-6}, Unit{"ms", 1e-3},
                                    Unit{"s", 1.0},    Unit{"m", 60.0},  Unit{"h", 3600.0},
                                    Unit{"d", 86400.0}};
constexpr std::array kByteUnits{Unit{"", 1.0},       Unit{"B", 1.0},      Unit{"KiB", 0x1p10},
                                Unit{"K", 0x1p10},   Unit{"MiB", 0x1p20}, Unit{"M", 0x1p20},
                                Unit{"GiB", 0x1p30}, Unit{"G", 0x1p30},   Unit{"TiB", 0x1p40},
                                Unit{"T", 0x1p40}};

std::string three_digits(double value) {
  double magnitude = std::fabs(value);
  int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

// Removes a quantity such as "12.5ms" from the front of text; nullopt if there is no number or known unit.
std::optional<double> take_quantity(std::string_view& text, std::span<const Unit> units) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  std::size_t letters = 0;
  while (letters < rest.size() && is_letter(rest[letters])) ++letters;
  std::string_view name = rest.substr(0, letters);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    text = rest.substr(letters);
    return number * unit.scale;
  }
  return std::nullopt;
}

}  // namespace

Duration from_seconds(double seconds) {
  constexpr double kMax = static_cast<double>(std::numeric_limits<Duration::rep>::max());
  double nanoseconds = std::round(seconds * 1e9);
  if (std::isnan(nanoseconds)) return Duration::zero();
  if (nanoseconds >= kMax) return Duration::max();
  if (nanoseconds <= -kMax) return Duration::min();
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

std::string format_duration(Duration duration) {
  double value = seconds(duration);
  double magnitude = std::fabs(value);
  if (magnitude == 0) return "0 s";
  if (magnitude < 0.9995e-6) return fmt::format("{} ns", three_digits(value * 1e9));
  if (magnitude < 0.9995e-3) return fmt::format("{} us", three_digits(value * 1e6));
  if (magnitude < 0.9995) return fmt::format("{} ms", three_digits(value * 1e3));
  if (magnitude < 99.95) return fmt::format("{} s", three_digits(value));
  auto rounded = static_cast<std::int64_t>(std::llround(magnitude));
  std::string_view sign = value < 0 ? "-" : "";
  if (rounded < 3600) return fmt::format("{}{}m{:02}s", sign, rounded / 60, rounded % 60);
  std::int64_t minutes = (rounded + 30) / 60;
  return fmt::format("{}{}h{:02}m", sign, minutes / 60, minutes % 60);
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < kNames.size()) value /= 1024, ++unit;
  if (unit == 0) return fmt::format("{} B", bytes.count);
  return fmt::format("{} {}", value >= 999.5 ? fmt::format("{:.0f}", value) : three_digits(value),
                     kNames[unit]);
}

std::string format_count(double count) {
  double magnitude = std::fabs(count);
  if (magnitude >= 999.5e6) return three_digits(count / 1e9) + " G";
  if (magnitude >= 999.5e3) return three_digits(count / 1e6) + " M";
  if (magnitude >= 999.5) return three_digits(count / 1e3) + " k";
  return count == std::floor(count) ? fmt::format("{:.0f}", count) : three_digits(count);
}

Result<Duration> parse_duration(std::string_view text) {
  std::string_view rest = trim(text);
  double total = 0;
  bool any = false;
  while (!rest.empty()) {
    auto part = take_quantity(rest, kDurationUnits);
    if (!part) break;
    total += *part;
    any = true;
  }
  if (!any || !rest.empty()) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a duration", text),
                "write a number with a unit, such as 250ms, 90s or 1h30m");
  }
  return from_seconds(total);
}

Result<Bytes> parse_bytes(std::string_view text) {
  std::string_view rest = trim(text);
  auto count = take_quantity(rest, kByteUnits);
  if (!count || !rest.empty() || *count >= 0x1p63) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a size", text),
                "write a number of bytes, or a number with KiB, MiB, GiB or TiB");
  }
  return Bytes{static_cast<std::uint64_t>(*count)};
}

}  // namespace specgen
