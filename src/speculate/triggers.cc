#include "speculate/triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/assert.h"
#include "speculate/trigger_matcher.h"

namespace specgen {
namespace {

constexpr std::uint32_t kQuietBytes = 64;  // within which only a greater weight fires again
constexpr std::uint32_t kMaxLine = 400;    // bytes to wait for the end of a line
constexpr std::uint32_t kMaxParagraph = 1600;
constexpr std::uint32_t kMaxBlock =
    64 << 10;  // a longer code block is taken to have lost its closing fence
constexpr std::int64_t kBytesPerToken = 3;  // as in estimate_tokens()
constexpr std::uint32_t kMaxReasoning = 1 << 30;

constexpr std::uint16_t kNone = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint16_t kInterval = kNone - 1;

// Fences are found like trigger patterns; generate/answer/fences.h says what they mean.
constexpr std::string_view kBareFence = R"(\n[ \t]{0,4}```[`]{0,2}[ \t\r]{0,2}\n)";
constexpr std::string_view kFenceWithInfo = R"(\n[ \t]{0,4}```[`]{0,2}[ ]{0,1}[^\s`])";

// The meaning of a pattern of the matcher.
struct Meaning {
  enum class Kind : std::uint8_t { pattern, bare_fence, fence_with_info } kind = Kind::pattern;
  std::uint16_t pattern = kNone;  // of the set
};

}  // namespace

class Triggers::State {
 public:
  TriggerSet set;
  std::unique_ptr<TriggerMatcher> matcher;
  std::vector<Meaning> meanings;      // of the matcher's patterns
  std::vector<PatternMatch> matches;  // of one feed(); a member to reuse its memory
  std::uint32_t interval_bytes = 0;

  double weight_of(std::uint16_t pattern) const {
    return pattern == kInterval ? set.interval_weight : set.patterns[pattern].weight;
  }
};

// The state of one stream. Offsets are bytes of its reasoning.
class TriggerScanner::State {
 public:
  explicit State(Triggers::State& triggers) : triggers_(triggers) {}

  void feed(std::string_view reasoning, std::vector<Trigger>& found) {
    if (reasoning.size() > kMaxReasoning - std::min(kMaxReasoning, position_)) return;
    std::vector<PatternMatch>& matches = triggers_.matches;
    triggers_.matcher->scan(tail_, reasoning, matches);
    const std::size_t found_before = found.size();
    const Piece piece{reasoning, position_};
    if (!matches.empty()) {
      sort_matches();
      for (const PatternMatch& match : matches) {
        advance_to(piece.begin + static_cast<std::uint32_t>(match.end), piece, found);
        take(match, piece, found);
      }
      matches.clear();
    }
    advance_to(piece.begin + static_cast<std::uint32_t>(reasoning.size()), piece, found);
    if (found.size() - found_before > 1) {
      std::sort(found.begin() + static_cast<std::ptrdiff_t>(found_before), found.end(),
                [](const Trigger& a, const Trigger& b) {
                  return std::pair(a.offset, -a.weight) < std::pair(b.offset, -b.weight);
                });
    }
  }

 private:
  struct Piece {
    std::string_view text;
    std::uint32_t begin;
  };

  // By end; at one end the greatest weight first. Fences come last: they end the code block that a match belongs to.
  void sort_matches() {
    std::vector<PatternMatch>& matches = triggers_.matches;
    if (matches.size() < 2) return;
    auto rank = [&](const PatternMatch& match) {
      const Meaning& meaning = triggers_.meanings[match.pattern];
      bool is_fence = meaning.kind != Meaning::Kind::pattern;
      double weight = is_fence ? 0 : triggers_.weight_of(meaning.pattern);
      return std::tuple(match.end, is_fence, -weight, meaning.pattern);
    };
    std::ranges::sort(matches, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  }

  bool in_code() const { return code_begin_ != kNowhere; }

  // Handles the bytes up to `end`, in which nothing matched: cuts that were waited for, and intervals.
  void advance_to(std::uint32_t end, const Piece& piece, std::vector<Trigger>& found) {
    while (true) {
      if (pending_ != kNone) {
        if (!settle(end, piece, found)) break;
      } else if (in_code() && end - code_begin_ > kMaxBlock) {
        position_ = std::max(position_, code_begin_ + kMaxBlock);
        code_begin_ = kNowhere;
      } else if (triggers_.interval_bytes > 0 && !in_code() &&
                 end - last_end_ >= triggers_.interval_bytes) {
        position_ = std::max(position_, last_end_ + triggers_.interval_bytes);
        fired(kInterval, position_);
        wait_for_cut(kInterval, position_);
      } else {
        break;
      }
    }
    position_ = end;
  }

  void take(const PatternMatch& match, const Piece& piece, std::vector<Trigger>& found) {
    const Meaning& meaning = triggers_.meanings[match.pattern];
    const std::uint32_t end = piece.begin + static_cast<std::uint32_t>(match.end);
    if (meaning.kind == Meaning::Kind::bare_fence) {
      code_begin_ = in_code() ? kNowhere : end;
    } else if (meaning.kind == Meaning::Kind::fence_with_info) {
      code_begin_ = end;
    } else {
      take_pattern(meaning.pattern, match, piece, found);
    }
  }

  void take_pattern(std::uint16_t index, const PatternMatch& match, const Piece& piece,
                    std::vector<Trigger>& found) {
    const TriggerPattern& pattern = triggers_.set.patterns[index];
    const std::uint32_t end = piece.begin + static_cast<std::uint32_t>(match.end);
    bool wants_code = pattern.category == TriggerCategory::code_finished;
    if (wants_code != in_code()) return;
    bool is_near = last_ != kNone && end - last_end_ < kQuietBytes;
    if (is_near && pattern.weight <= triggers_.weight_of(last_)) return;
    switch (pattern.cut) {
      case CutRule::before_match:
        emit(index, end - static_cast<std::uint32_t>(match.word_bytes), found);
        break;
      case CutRule::after_match:
        emit(index, end, found);
        break;
      case CutRule::after_line:
      case CutRule::after_paragraph:
        // One cut is waited for at a time: that of the greatest weight.
        if (pending_ != kNone && triggers_.weight_of(pending_) >= pattern.weight) return;
        wait_for_cut(index, end);
        line_is_blank_ = piece.text[match.end - 1] == '\n';
        if (line_is_blank_ && pattern.cut == CutRule::after_line) {
          pending_ = kNone;
          emit(index, end, found);
        }
    }
    fired(index, end);
  }

  void fired(std::uint16_t pattern, std::uint32_t end) {
    last_ = pattern;
    last_end_ = end;
  }

  void wait_for_cut(std::uint16_t pattern, std::uint32_t from) {
    pending_ = pattern;
    pending_from_ = from;
    line_is_blank_ = false;
  }

  // Returns whether the awaited cut is at or before `end`; if so, moves position_ there.
  bool settle(std::uint32_t end, const Piece& piece, std::vector<Trigger>& found) {
    bool wants_paragraph =
        pending_ != kInterval && triggers_.set.patterns[pending_].cut == CutRule::after_paragraph;
    std::uint32_t limit = pending_from_ + (wants_paragraph ? kMaxParagraph : kMaxLine);
    std::uint32_t until = std::min(end, limit);
    for (std::uint32_t at = std::max(position_, pending_from_); at < until; ++at) {
      char c = piece.text[at - piece.begin];
      if (c == '\n') {
        if (!wants_paragraph || line_is_blank_) return end_wait(at + 1, found);
        line_is_blank_ = true;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        line_is_blank_ = false;
      }
    }
    return end >= limit && end_wait(limit, found);
  }

  bool end_wait(std::uint32_t at, std::vector<Trigger>& found) {
    emit(pending_, at, found);
    pending_ = kNone;
    position_ = std::max(position_, at);
    return true;
  }

  void emit(std::uint16_t pattern, std::uint32_t offset, std::vector<Trigger>& found) const {
    Trigger trigger{.offset = offset};
    trigger.weight = triggers_.weight_of(pattern);
    if (pattern != kInterval) {
      trigger.pattern = &triggers_.set.patterns[pattern];
      trigger.category = trigger.pattern->category;
    }
    found.push_back(trigger);
  }

  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

  Triggers::State& triggers_;
  std::uint32_t position_ = 0;           // everything before it is handled
  std::uint32_t code_begin_ = kNowhere;  // of the open code block
  std::uint32_t last_end_ = 0;           // of the last match that fired
  std::uint32_t pending_from_ = 0;
  std::uint16_t last_ = kNone;
  std::uint16_t pending_ = kNone;  // the pattern whose cut is waited for
  bool line_is_blank_ = false;     // so far, while waiting for the end of a paragraph
  StreamTail tail_;

  friend class Triggers;
};

Triggers::Triggers(std::unique_ptr<State> state) : state_(std::move(state)) {}
Triggers::~Triggers() = default;

Result<std::unique_ptr<Triggers>> Triggers::compile(TriggerSet set) {
  auto state = std::make_unique<State>();
  std::vector<TriggerMatcher::Pattern> patterns;
  SG_ASSERT(set.patterns.size() < kInterval, "parse_trigger_set() limits the patterns");
  for (std::uint16_t i = 0; i < set.patterns.size(); ++i) {
    const TriggerPattern& pattern = set.patterns[i];
    if (pattern.weight <= 0) continue;  // switched off
    auto characters = check_trigger_regex(pattern.regex);
    if (!characters) {
      return fail(ErrorCode::bad_triggers,
                  fmt::format("{}: pattern '{}': {}: {}", set.origin, pattern.name, pattern.regex,
                              characters.error()));
    }
    patterns.push_back({pattern.regex, pattern.match_case, *characters});
    state->meanings.push_back({.kind = Meaning::Kind::pattern, .pattern = i});
  }
  auto add_fence = [&](std::string_view regex, Meaning::Kind kind) {
    patterns.push_back({std::string(regex), true, check_trigger_regex(regex).value()});
    state->meanings.push_back({.kind = kind});
  };
  add_fence(kBareFence, Meaning::Kind::bare_fence);
  add_fence(kFenceWithInfo, Meaning::Kind::fence_with_info);
  state->interval_bytes = static_cast<std::uint32_t>(
      std::min<std::int64_t>(set.interval_tokens * kBytesPerToken, kMaxReasoning));

  auto matcher = TriggerMatcher::compile(patterns);
  if (!matcher) {
    Error error = matcher.error();
    error.context = fmt::format("{}: {}", set.origin, error.context);
    return std::unexpected(error);
  }
  state->matcher = std::move(*matcher);
  state->set = std::move(set);
  return std::unique_ptr<Triggers>(new Triggers(std::move(state)));
}

const TriggerSet& Triggers::set() const {
  return state_->set;
}
std::size_t Triggers::state_bytes() {
  return sizeof(TriggerScanner) + sizeof(TriggerScanner::State);
}

TriggerScanner::TriggerScanner(Triggers& triggers)
    : state_(std::make_unique<State>(*triggers.state_)) {}
TriggerScanner::TriggerScanner(TriggerScanner&&) noexcept = default;
TriggerScanner& TriggerScanner::operator=(TriggerScanner&&) noexcept = default;
TriggerScanner::~TriggerScanner() = default;

void TriggerScanner::feed(std::string_view reasoning, std::vector<Trigger>& found) {
  state_->feed(reasoning, found);
}

}  // namespace specgen
