#pragma once
// The regular expressions of triggers: a dialect that means the same in every engine, with a bound on everything.
// Characters, classes [a-z], escapes \n \t \r \s \S \w \W \d \D \xHH, `.` (all but a line's end), groups ( ) and (?: ),
// choices |, and repeats ? {m} {m,n}. Bytes count, not characters; letters match in either case unless told
// otherwise. A pattern is rewritten so that engines see single bytes and classes of bytes alone. Pure.

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

inline constexpr std::size_t kMaxMatch = 64;  // bytes; what an engine must remember of a stream

struct PortableRegex {
  std::string text;
  std::size_t shortest = 0;  // of a match, in bytes
  std::size_t longest = 0;
  std::size_t words = 0;  // of regexes_by_length(): bytes from the match's first word to its end
};

// Or why it cannot be used: it can match nothing, has no bound, or is not of the dialect.
std::expected<PortableRegex, std::string> portable_regex(std::string_view regex, bool match_case);

// The same as several, each with one length from the first word to the end: where a match ends then tells where its
// words began. What a match begins with before its first letter or digit is not of its words.
std::expected<std::vector<PortableRegex>, std::string> regexes_by_length(std::string_view regex,
                                                                         bool match_case);

}  // namespace specgen
