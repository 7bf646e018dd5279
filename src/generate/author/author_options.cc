#include "generate/author/author_options.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::string_view kHint =
    "a pace is fast, instant, paper, or a number of tokens per second; slack=, mistakes= (shares) "
    "and tokens= may follow, after commas";

std::optional<double> number_in(std::string_view text, double min, double max) {
  double number = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool valid =
      error == std::errc() && stop == text.data() + text.size() && number >= min && number <= max;
  return valid ? std::optional(number) : std::nullopt;
}

bool set_pace(AuthorOptions& options, std::string_view pace) {
  if (pace.empty() || pace == "fast") return true;
  if (pace == "instant") {
    options.tokens_per_second = 0;
    return true;
  }
  if (pace == "paper") {
    options.tokens_per_second = 60;
    options.first_token = std::chrono::milliseconds(500);
    options.trace_median = 12'000;
    options.trace_sigma = 0.5;
    return true;
  }
  auto number = number_in(pace, 0.1, 1e9);
  if (number) options.tokens_per_second = *number;
  return number.has_value();
}

bool set_option(AuthorOptions& options, std::string_view text) {
  struct Known {
    std::string_view name;
    double AuthorOptions::* value;
    double min, max;
  };
  static constexpr std::array kKnown{Known{"slack=", &AuthorOptions::slack, 0, 0.95},
                                     Known{"mistakes=", &AuthorOptions::mistake_rate, 0, 1},
                                     Known{"tokens=", &AuthorOptions::trace_median, 100, 200'000}};
  for (const Known& known : kKnown) {
    if (!text.starts_with(known.name)) continue;
    auto number = number_in(text.substr(known.name.size()), known.min, known.max);
    if (number) options.*known.value = *number;
    return number.has_value();
  }
  return false;
}

}  // namespace

Result<AuthorOptions> author_at_pace(std::string_view pace) {
  AuthorOptions options;
  std::vector<std::string_view> parts = split(pace, ',');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 ? set_pace(options, parts[i]) : set_option(options, parts[i])) continue;
    return fail(ErrorCode::bad_usage,
                fmt::format("'{}' is not a pace of the author{}", pace,
                            i == 0 ? "" : fmt::format(": '{}'", parts[i])),
                std::string(kHint));
  }
  return options;
}

}  // namespace specgen
