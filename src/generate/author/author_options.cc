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

std::optional<double> number_in(std::string_view text, double least, double most) {
  double number = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool sensible = error == std::errc() && stop == text.data() + text.size() && number >= least &&
                  number <= most;
  return sensible ? std::optional(number) : std::nullopt;
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

bool set_other(AuthorOptions& options, std::string_view word) {
  struct Known {
    std::string_view name;
    double AuthorOptions::* value;
    double least, most;
  };
  static constexpr std::array kKnown{Known{"slack=", &AuthorOptions::slack, 0, 0.95},
                                     Known{"mistakes=", &AuthorOptions::mistake_rate, 0, 1},
                                     Known{"tokens=", &AuthorOptions::trace_median, 100, 200'000}};
  for (const Known& known : kKnown) {
    if (!word.starts_with(known.name)) continue;
    auto number = number_in(word.substr(known.name.size()), known.least, known.most);
    if (number) options.*known.value = *number;
    return number.has_value();
  }
  return false;
}

}  // namespace

Result<AuthorOptions> author_at_pace(std::string_view pace) {
  AuthorOptions options;
  std::vector<std::string_view> words = split(pace, ',');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 0 ? set_pace(options, words[i]) : set_other(options, words[i])) continue;
    return fail(ErrorCode::bad_usage,
                fmt::format("'{}' is no pace of the author's{}", pace,
                            i == 0 ? "" : fmt::format(": '{}'", words[i])),
                std::string(kHint));
  }
  return options;
}

}  // namespace specgen
