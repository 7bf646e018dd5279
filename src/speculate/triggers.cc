#include "speculate/triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/assert.h"
#include "speculate/trigger_engine.h"

namespace specgen {
namespace {

constexpr std::uint32_t kQuietBytes = 64;  // in which a match no heavier than the last is the same
constexpr std::uint32_t kMaxLine = 400;    // that is waited for
constexpr std::uint32_t kMaxParagraph = 1600;
constexpr std::uint32_t kMaxBlock = 64 << 10;  // of code; one that goes on has lost its end
constexpr std::int64_t kBytesPerToken = 3;     // as estimate_tokens() has it
constexpr std::uint32_t kMaxThinking = 1 << 30;

constexpr std::uint16_t kNone = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint16_t kInterval = kNone - 1;

// Fences are looked for by the engine like everything else; what they mean is in generate/answer/fences.h.
constexpr std::string_view kBareFence = R"(\n[ \t]{0,4}```[`]{0,2}[ \t\r]{0,2}\n)";
constexpr std::string_view kFenceWithInfo = R"(\n[ \t]{0,4}```[`]{0,2}[ ]{0,1}[^\s`])";

// What a pattern of the engine stands for.
struct Meaning {
  enum class Kind : std::uint8_t { pattern, bare_fence, fence_with_info } kind = Kind::pattern;
  std::uint16_t pattern = kNone;
  std::uint16_t words =
      0;  // bytes from the match's first word to its end, where it is cut before them
};

}  // namespace

class Triggers::State {
 public:
  TriggerSet set;
  std::unique_ptr<TriggerEngine> engine;
  std::vector<Meaning> meanings;     // of the engine's patterns
  std::vector<EngineMatch> matches;  // of one feed(); here to be reused
  std::uint32_t interval_bytes = 0;

  double weight_of(std::uint16_t pattern) const {
    return pattern == kInterval ? set.interval_weight : set.patterns[pattern].weight;
  }
};

// As small as can be: there is one for each stream. Offsets are of the reasoning.
class TriggerScanner::State {
 public:
  explicit State(Triggers::State& triggers)
      : triggers_(triggers), stream_(triggers.engine->open()) {
    // As if a line had just ended, so that a pattern need not tell the first line from others.
    triggers_.engine->scan(stream_, "\n", triggers_.matches);
    triggers_.matches.clear();
  }
  State(const State&) = delete;
  ~State() { triggers_.engine->close(stream_); }

  void feed(std::string_view reasoning, std::vector<Trigger>& found) {
    if (reasoning.size() > kMaxThinking - std::min(kMaxThinking, position_)) return;
    std::vector<EngineMatch>& matches = triggers_.matches;
    triggers_.engine->scan(stream_, reasoning, matches);
    const std::size_t found_before = found.size();
    const Piece piece{reasoning, position_};
    if (!matches.empty()) {
      sort_matches();
      for (const EngineMatch& match : matches) {
        auto end = static_cast<std::uint32_t>(match.end - 1);  // the line's end before the stream
        go_on_to(end, piece, found);
        take(triggers_.meanings[match.pattern], end, piece, found);
      }
      matches.clear();
    }
    go_on_to(position_of_end(piece), piece, found);
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
  static std::uint32_t position_of_end(const Piece& piece) {
    return piece.begin + static_cast<std::uint32_t>(piece.text.size());
  }

  // By place; at one place the heaviest first, and of one pattern the longest. Fences come last: they end the
  // code that a match belongs to.
  void sort_matches() {
    std::vector<EngineMatch>& matches = triggers_.matches;
    if (matches.size() < 2) return;
    auto rank = [&](const EngineMatch& match) {
      const Meaning& meaning = triggers_.meanings[match.pattern];
      bool is_fence = meaning.kind != Meaning::Kind::pattern;
      double weight = is_fence ? 0 : triggers_.weight_of(meaning.pattern);
      return std::tuple(match.end, is_fence, -weight, meaning.pattern, -meaning.words);
    };
    std::ranges::sort(matches, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  }

  bool in_code() const { return code_begin_ != kNowhere; }

  // Nothing matched up to there: cuts that were waited for, and intervals.
  void go_on_to(std::uint32_t end, const Piece& piece, std::vector<Trigger>& found) {
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

  void take(const Meaning& meaning, std::uint32_t end, const Piece& piece,
            std::vector<Trigger>& found) {
    if (meaning.kind == Meaning::Kind::bare_fence) {
      code_begin_ = in_code() ? kNowhere : end;
    } else if (meaning.kind == Meaning::Kind::fence_with_info) {
      code_begin_ = end;
    } else {
      take_pattern(meaning, end, piece, found);
    }
  }

  void take_pattern(const Meaning& meaning, std::uint32_t end, const Piece& piece,
                    std::vector<Trigger>& found) {
    const TriggerPattern& pattern = triggers_.set.patterns[meaning.pattern];
    bool wants_code = pattern.category == TriggerCategory::code_finished;
    if (wants_code != in_code()) return;
    bool is_near = last_ != kNone && end - last_end_ < kQuietBytes;
    if (is_near && pattern.weight <= triggers_.weight_of(last_)) return;
    switch (pattern.cut) {
      case CutRule::before_match:
        emit(meaning.pattern, end - std::min<std::uint32_t>(end, meaning.words), found);
        break;
      case CutRule::after_match:
        emit(meaning.pattern, end, found);
        break;
      case CutRule::after_line:
      case CutRule::after_paragraph:
        // One cut is waited for at a time: that of the heaviest.
        if (pending_ != kNone && triggers_.weight_of(pending_) >= pattern.weight) return;
        wait_for_cut(meaning.pattern, end);
        line_is_blank_ = piece.text[end - piece.begin - 1] == '\n';
        if (line_is_blank_ && pattern.cut == CutRule::after_line) {
          pending_ = kNone;
          emit(meaning.pattern, end, found);
        }
    }
    fired(meaning.pattern, end);
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

  // Whether the cut that is waited for is found before `end`; if so, position_ is there.
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
  EngineStream* stream_;
  std::uint32_t position_ = 0;           // up to where all is done
  std::uint32_t code_begin_ = kNowhere;  // of the block that is open
  std::uint32_t last_end_ = 0;           // of the last match that counted
  std::uint32_t pending_from_ = 0;
  std::uint16_t last_ = kNone;
  std::uint16_t pending_ = kNone;  // whose cut is waited for
  bool line_is_blank_ = false;     // so far, while a paragraph's end is waited for

  friend class Triggers;
};

Triggers::Triggers(std::unique_ptr<State> state) : state_(std::move(state)) {}
Triggers::~Triggers() = default;

Result<std::unique_ptr<Triggers>> Triggers::compile(TriggerSet set, EngineChoice choice) {
  auto state = std::make_unique<State>();
  std::vector<PortableRegex> regexes;
  auto add = [&](PortableRegex regex, Meaning meaning) {
    meaning.words = static_cast<std::uint16_t>(regex.words);
    regexes.push_back(std::move(regex));
    state->meanings.push_back(meaning);
  };
  SG_ASSERT(set.patterns.size() < kInterval, "so many patterns are not read");
  for (std::uint16_t i = 0; i < set.patterns.size(); ++i) {
    const TriggerPattern& pattern = set.patterns[i];
    if (pattern.weight <= 0) continue;  // switched off
    auto refuse = [&](const std::string& reason) {
      return fail(ErrorCode::bad_triggers, fmt::format("{}: pattern '{}': {}: {}", set.origin,
                                                       pattern.name, pattern.regex, reason));
    };
    const Meaning meaning{.kind = Meaning::Kind::pattern, .pattern = i};
    if (pattern.cut == CutRule::before_match) {
      auto parts = regexes_by_length(pattern.regex, pattern.match_case);
      if (!parts) return refuse(parts.error());
      for (PortableRegex& part : *parts) add(std::move(part), meaning);
    } else {
      auto regex = portable_regex(pattern.regex, pattern.match_case);
      if (!regex) return refuse(regex.error());
      add(std::move(*regex), meaning);
    }
  }
  add(portable_regex(kBareFence, true).value(), {.kind = Meaning::Kind::bare_fence});
  add(portable_regex(kFenceWithInfo, true).value(), {.kind = Meaning::Kind::fence_with_info});
  state->interval_bytes = static_cast<std::uint32_t>(
      std::min<std::int64_t>(set.interval_tokens * kBytesPerToken, kMaxThinking));

  auto engine =
      choice == EngineChoice::re2 ? make_re2_engine(regexes) : make_hyperscan_engine(regexes);
  bool is_away = !engine && engine.error().code == ErrorCode::tool_missing;
  if (is_away && choice == EngineChoice::best) engine = make_re2_engine(regexes);
  if (!engine) {
    Error error = engine.error();
    error.context = fmt::format("{}: {}", set.origin, error.context);
    return std::unexpected(error);
  }
  state->engine = std::move(*engine);
  state->set = std::move(set);
  return std::unique_ptr<Triggers>(new Triggers(std::move(state)));
}

const TriggerSet& Triggers::set() const {
  return state_->set;
}
std::string_view Triggers::engine() const {
  return state_->engine->name();
}
std::size_t Triggers::state_bytes() const {
  return sizeof(TriggerScanner) + sizeof(TriggerScanner::State) + state_->engine->stream_bytes();
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
