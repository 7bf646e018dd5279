#pragma once
// Finds trigger patterns in streams with RE2. RE2 cannot continue a search from one delta to the next, so each stream
// keeps its last bytes (StreamTail) and searches them again together with the next delta. That needs a bound on the
// length of a match, which check_trigger_regex() enforces. Internal to this folder; not thread-safe.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

inline constexpr std::size_t kMaxMatchCharacters = 64;
inline constexpr std::size_t kMaxMatchBytes = 4 * kMaxMatchCharacters;  // UTF-8

// Returns the length of the longest possible match in characters, or why the pattern is refused. A pattern is an RE2
// regular expression over UTF-8 with these limits: at most 1000 bytes of text; a match of 1 to 64 characters, so no
// *, + or {n,}; nothing that depends on the text around the match, so no ^, $, \b, \B, \A or \z; no \C, \Q or octal
// escapes; and (?: as the only group that begins with (?.
std::expected<std::size_t, std::string> check_trigger_regex(std::string_view regex);

// The end of what a stream has brought so far. A new stream begins as if a line had just ended, so that \n in a pattern
// also matches before the first line.
struct StreamTail {
  std::uint16_t bytes = 1;
  char text[kMaxMatchBytes - 1] = {'\n'};
};

struct PatternMatch {
  std::size_t end = 0;        // in the scanned text, from 1 to its size
  std::uint32_t pattern = 0;  // index of the pattern
  std::size_t word_bytes =
      0;  // from the first letter, digit or _ of the longest match that ends here
};

class TriggerMatcher {
 public:
  struct Pattern {
    std::string regex;
    bool match_case = false;
    std::size_t max_characters = 0;  // from check_trigger_regex()
  };
  static Result<std::unique_ptr<TriggerMatcher>> compile(const std::vector<Pattern>& patterns);
  ~TriggerMatcher();

  // Appends each place in `text` where a match of a pattern ends, once per pattern, unsorted; then updates the tail.
  void scan(StreamTail& tail, std::string_view text, std::vector<PatternMatch>& matches);

 private:
  class Impl;
  explicit TriggerMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace specgen
