#include "cli/numbers.h"

#include <fmt/core.h>

namespace specgen {

std::unexpected<Error> must_be(std::string_view flag, std::string_view what) {
  return fail(ErrorCode::bad_usage, fmt::format("{} must be {}", flag, what));
}

Result<std::map<std::string, std::int64_t>> assignments(const std::vector<std::string>& texts,
                                                        std::string_view flag) {
  std::map<std::string, std::int64_t> all;
  for (const std::string& text : texts) {
    std::size_t equals = text.find('=');
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const char* digits = equals == std::string::npos ? end : text.data() + equals + 1;
    auto [stop, error] = std::from_chars(digits, end, value);
    if (equals == 0 || digits == end || error != std::errc() || stop != end) {
      return fail(ErrorCode::bad_usage, fmt::format("{}: '{}' is not NAME=N", flag, text),
                  fmt::format("write for example {} BLOCK=256", flag));
    }
    all[text.substr(0, equals)] = value;
  }
  return all;
}

}  // namespace specgen
