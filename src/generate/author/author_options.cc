#include "generate/author/author_options.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace specgen {

Result<AuthorOptions> author_at_pace(std::string_view pace) {
  AuthorOptions options;
  if (pace.empty() || pace == "fast") return options;
  if (pace == "instant") {
    options.tokens_per_second = 0;
    return options;
  }
  if (pace == "paper") {
    options.tokens_per_second = 60;
    options.first_token = std::chrono::milliseconds(500);
    options.trace_median = 12'000;
    options.trace_sigma = 0.5;
    options.slack = 0.35;
    return options;
  }
  const char* end = pace.data() + pace.size();
  auto [stop, error] = std::from_chars(pace.data(), end, options.tokens_per_second);
  bool sensible = error == std::errc() && stop == end && options.tokens_per_second >= 0.1 &&
                  options.tokens_per_second <= 1e9;
  if (sensible) return options;
  return fail(ErrorCode::bad_usage, fmt::format("'{}' is no pace of the author's", pace),
              "a pace is fast, instant, paper, or a number of tokens per second");
}

}  // namespace specgen
