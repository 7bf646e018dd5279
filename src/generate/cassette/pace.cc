#include "generate/cassette/pace.h"

#include <fmt/core.h>

#include <charconv>

namespace specgen {

Result<Pace> parse_pace(std::string_view text) {
  constexpr double kMin = 1e-3;
  constexpr double kMax = 1e6;
  if (text == "original") return Pace{};
  if (text == "instant") return Pace{.speed = 1, .instant = true};
  double factor = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, factor);
  bool is_factor = error == std::errc() && std::string_view(stop, end) == "x";
  if (!is_factor || !(factor >= kMin && factor <= kMax)) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a pace", text),
                "write original, instant, or a factor from 0.001x to 1000000x, such as 10x");
  }
  return Pace{.speed = factor, .instant = false};
}

}  // namespace specgen
