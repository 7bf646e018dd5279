// Any bytes as a set of triggers: an error, or patterns that every engine takes. And any bytes as
// reasoning: engines and deltas give the same triggers, inside the text.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "pieces.h"
#include "speculate/trigger_regex.h"
#include "speculate/triggers.h"

namespace {

using namespace specgen;

void check(bool holds) {
  if (!holds) std::abort();
}

using Places = std::vector<std::pair<std::size_t, std::string>>;

Places places(Triggers& triggers, const std::vector<std::string>& pieces, std::size_t size) {
  TriggerScanner scanner(triggers);
  std::vector<Trigger> found;
  for (const std::string& piece : pieces) scanner.feed(piece, found);
  Places all;
  for (const Trigger& trigger : found) {
    check(trigger.offset <= size);
    all.emplace_back(trigger.offset, trigger.pattern ? trigger.pattern->name : "");
  }
  std::ranges::sort(all);
  return all;
}

void compare(Triggers& re2, Triggers& best, const FuzzInput& input) {
  Places expected = places(re2, {input.text}, input.text.size());
  check(places(re2, input.pieces, input.text.size()) == expected);
  check(places(best, input.pieces, input.text.size()) == expected);
}

void compare(const TriggerSet& set, const FuzzInput& input) {
  auto re2 = Triggers::compile(set, EngineChoice::re2);
  auto best = Triggers::compile(set);
  check(re2.has_value() && best.has_value());
  compare(**re2, **best, input);
}

// Every rule of cutting, in few letters.
constexpr std::string_view kSmallSet = R"(
family = "small"
interval_tokens = 20
pattern = [
  {name = "b", regex = '\n(?:x )?ab?[,.]', category = "change_of_mind", cut = "before_match", weight = 0.5},
  {name = "m", regex = 'cd{0,3}', category = "decision_made", cut = "after_match", weight = 0.4},
  {name = "l", regex = 'ef', category = "decision_made", cut = "after_line", weight = 0.6},
  {name = "p", regex = 'gh?\s', category = "check_passed", cut = "after_paragraph", weight = 0.7},
  {name = "c", regex = '\n```\n', category = "code_finished", cut = "after_paragraph", weight = 0.9},
]
)";

// Compiling takes longer than all else: most inputs are reasoning for patterns that are compiled once.
void follow(const FuzzInput& input) {
  static const TriggerSet kSet = parse_trigger_set(kSmallSet, "small").value();
  static const std::unique_ptr<Triggers> kRe2 = Triggers::compile(kSet, EngineChoice::re2).value();
  static const std::unique_ptr<Triggers> kBest = Triggers::compile(kSet).value();
  compare(*kRe2, *kBest, input);
}

// The text up to the first zero is a pattern, the rest is what it is looked for in.
void try_pattern(const FuzzInput& input, CutRule cut) {
  std::string regex = input.text.substr(0, input.text.find('\0'));
  constexpr std::size_t kShort = 24;  // engines take long ones too, but not many a second
  if (regex.size() > kShort || !portable_regex(regex, false)) return;
  if (cut == CutRule::before_match && !regexes_by_length(regex, false)) return;
  TriggerSet set{.family = "fuzz", .origin = "fuzz", .models = {}, .patterns = {}};
  set.patterns.push_back({.name = "p", .regex = regex, .cut = cut});
  compare(set, input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  FuzzInput input = cut_into_pieces(data + 1, size - 1);
  constexpr int kSeldom = 32;
  auto set = parse_trigger_set(input.text, "fuzz.toml");
  if (set && set->patterns.size() <= 4) compare(*set, input);
  follow(input);
  if (data[0] < kSeldom) try_pattern(input, static_cast<CutRule>(data[0] % 4));
  return 0;
}
