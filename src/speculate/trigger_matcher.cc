#include "speculate/trigger_matcher.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxRegexBytes = 1000;
constexpr std::size_t kScanBytes = 256;  // per search: keeps the search for match ends short

RE2::Options re2_options() {
  // UTF-8, not Latin-1: in Latin-1, RE2 2022-06 finds nothing where all alternatives begin with the same byte
  // above 0x7f.
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  return options;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

// Adds up how long a match can be, and refuses what has no bound or depends on the text around a match. RE2 has
// accepted the regex, so that brackets are balanced and escapes are complete.
class MatchLength {
 public:
  explicit MatchLength(std::string_view regex) : rest_(regex) {}

  std::expected<std::size_t, std::string> characters() {
    while (!rest_.empty()) {
      if (std::string refusal = take_item(); !refusal.empty()) return std::unexpected(refusal);
    }
    return levels_.back().longest();
  }

 private:
  struct Level {                   // of nested groups
    std::size_t alternatives = 0;  // the longest of those before the current one
    std::size_t sequence = 0;      // the current alternative
    std::size_t last_item = 0;     // the end of the sequence, which a repeat applies to
    std::size_t longest() const { return std::max(alternatives, sequence); }
    void add(std::size_t characters) {
      last_item = characters;
      sequence += characters;
    }
  };

  // Returns why the item is refused; empty if it is accepted.
  std::string take_item() {
    Level& level = levels_.back();
    const char c = rest_[0];
    switch (c) {
      case '*':
      case '+':
        return fmt::format("{} has no bound; write for example {{{},8}}", c, c == '+' ? 1 : 0);
      case '^':
      case '$':
        return fmt::format(
            "{} is not supported; write \\n, which also matches before the first line", c);
      case '?':
        break;
      case '{':
        return take_repeat();
      case '(':
        if (rest_.starts_with("(?") && !rest_.starts_with("(?:")) {
          return "of the groups that begin with (? only (?: is supported";
        }
        levels_.emplace_back();
        return skip(rest_.starts_with("(?:") ? 3 : 1);
      case ')': {
        std::size_t group = level.longest();
        levels_.pop_back();
        levels_.back().add(group);
        break;
      }
      case '|':
        level = {.alternatives = level.longest()};
        break;
      case '[':
        level.add(1);
        return take_class();
      case '\\':
        level.add(1);
        return take_escape();
      default:
        level.add(1);
        return skip(std::max<std::size_t>(1, character_length(rest_)));
    }
    return skip(1);
  }

  std::string take_repeat() {
    Level& level = levels_.back();
    std::size_t end = 1, count = 0;
    bool is_count = end < rest_.size() && is_digit(rest_[end]);
    auto number = [&] {
      for (count = 0; end < rest_.size() && is_digit(rest_[end]); ++end) {
        count = 10 * count + static_cast<std::size_t>(rest_[end] - '0');
      }
    };
    number();
    if (is_count && end < rest_.size() && rest_[end] == ',') {
      ++end;
      if (end < rest_.size() && rest_[end] == '}') {
        return fmt::format("{} has no bound", rest_.substr(0, end + 1));
      }
      number();
    }
    if (!is_count || end >= rest_.size() || rest_[end] != '}') {  // a plain {
      level.add(1);
      return skip(1);
    }
    level.sequence += level.last_item * count;
    level.sequence -= level.last_item;
    return skip(end + 1);
  }

  std::string take_class() {
    std::size_t at = rest_.starts_with("[^") ? 2 : 1;
    for (bool first = true; first || rest_[at] != ']'; first = false) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_.substr(at).starts_with("[:")) {
        at = std::min(rest_.find(":]", at), rest_.size() - 2) + 1;
      }
      ++at;
    }
    return skip(at + 1);
  }

  std::string take_escape() {
    const char c = rest_[1];
    if (is_digit(c) || std::string_view("bBAzCQ").contains(c)) {
      return fmt::format("\\{} is not supported; write the character that must be there", c);
    }
    const bool has_argument = std::string_view("xpP").contains(c);
    if (!has_argument) return skip(2);
    if (rest_.substr(2).starts_with('{')) return skip(rest_.find('}') + 1);
    return skip(c == 'x' ? 4 : 3);
  }

  std::string skip(std::size_t bytes) {
    rest_.remove_prefix(bytes);
    return {};
  }

  std::string_view rest_;
  std::vector<Level> levels_{1};
};

}  // namespace

std::expected<std::size_t, std::string> check_trigger_regex(std::string_view regex) {
  if (regex.size() > kMaxRegexBytes) {
    return std::unexpected(fmt::format("it is longer than {} bytes", kMaxRegexBytes));
  }
  RE2 compiled({regex.data(), regex.size()}, re2_options());
  if (!compiled.ok()) return std::unexpected(compiled.error());
  auto characters = MatchLength(regex).characters();
  if (!characters) return characters;
  if (RE2::FullMatch("", compiled)) return std::unexpected("it can match the empty text");
  if (*characters > kMaxMatchCharacters) {
    return std::unexpected(fmt::format("it can match {} characters; the limit is {}", *characters,
                                       kMaxMatchCharacters));
  }
  return characters;
}

class TriggerMatcher::Impl {
 public:
  Impl() : any_(re2_options(), RE2::UNANCHORED) {}

  // Returns why RE2 refuses the pattern; empty if it does not.
  std::string add(const Pattern& pattern) {
    const std::string regex =
        fmt::format("(?{}:{})", pattern.match_case ? "-i" : "i", pattern.regex);
    std::string trouble;
    if (any_.Add(regex, &trouble) < 0) return trouble;
    ends_.push_back(
        {std::make_unique<RE2>(regex + "\\z", re2_options()), 4 * pattern.max_characters});
    tail_bytes_ = std::max(tail_bytes_, ends_.back().max_bytes - 1);
    return ends_.back().regex->ok() ? std::string() : ends_.back().regex->error();
  }

  bool finish() { return ends_.empty() || any_.Compile(); }

  void scan(StreamTail& tail, std::string_view text, std::vector<PatternMatch>& matches) {
    for (std::size_t at = 0; at < text.size(); at += kScanBytes) {
      const std::string_view piece = text.substr(at, kScanBytes);
      const std::size_t old = tail.bytes;
      window_.assign(tail.text, old).append(piece);
      // Most pieces match nothing, which one search shows.
      if (!ends_.empty() && search_all()) {
        for (int pattern : candidates_) {
          find_ends(static_cast<std::uint32_t>(pattern), old, at, matches);
        }
      }
      tail.bytes = static_cast<std::uint16_t>(std::min(tail_bytes_, window_.size()));
      std::memcpy(tail.text, window_.data() + window_.size() - tail.bytes, tail.bytes);
    }
  }

 private:
  struct EndPattern {
    std::unique_ptr<RE2> regex;  // matches at the end of a text only
    std::size_t max_bytes;
  };

  // Sets candidates_ to the patterns that match somewhere in the window.
  bool search_all() {
    RE2::Set::ErrorInfo trouble{};
    candidates_.clear();
    if (any_.Match(window_, &candidates_, &trouble)) return true;
    if (trouble.kind == RE2::Set::kNoError) return false;
    // RE2's automaton ran out of memory: search for each pattern by itself.
    for (std::size_t i = 0; i < ends_.size(); ++i) candidates_.push_back(static_cast<int>(i));
    return true;
  }

  void find_ends(std::uint32_t pattern, std::size_t old, std::size_t piece_begin,
                 std::vector<PatternMatch>& matches) {
    const EndPattern& end_pattern = ends_[pattern];
    for (std::size_t end = old + 1; end <= window_.size(); ++end) {
      const std::size_t begin = end - std::min(end_pattern.max_bytes, end);
      const re2::StringPiece part(window_.data() + begin, end - begin);
      re2::StringPiece match;  // the leftmost: of all that end here, the longest
      if (!end_pattern.regex->Match(part, 0, part.size(), RE2::UNANCHORED, &match, 1)) continue;
      const char* match_end = match.data() + match.size();
      const char* word = std::find_if(match.data(), match_end, is_word);
      matches.push_back(
          {piece_begin + end - old, pattern, static_cast<std::size_t>(match_end - word)});
    }
  }

  RE2::Set any_;
  std::vector<EndPattern> ends_;  // by pattern
  std::size_t tail_bytes_ = 0;
  std::string window_;  // reused from call to call, as is candidates_
  std::vector<int> candidates_;
};

TriggerMatcher::TriggerMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TriggerMatcher::~TriggerMatcher() = default;

Result<std::unique_ptr<TriggerMatcher>> TriggerMatcher::compile(
    const std::vector<Pattern>& patterns) {
  auto impl = std::make_unique<Impl>();
  for (const Pattern& pattern : patterns) {
    if (std::string trouble = impl->add(pattern); !trouble.empty()) {
      return fail(ErrorCode::bad_triggers, fmt::format("{}: {}", pattern.regex, trouble));
    }
  }
  if (!impl->finish()) {
    return fail(ErrorCode::bad_triggers, "RE2 needs too much memory for these patterns together");
  }
  return std::unique_ptr<TriggerMatcher>(new TriggerMatcher(std::move(impl)));
}

void TriggerMatcher::scan(StreamTail& tail, std::string_view text,
                          std::vector<PatternMatch>& matches) {
  impl_->scan(tail, text, matches);
}

}  // namespace specgen
