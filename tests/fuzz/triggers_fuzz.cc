// Arbitrary bytes as a set of triggers: an error, or patterns that compile. And arbitrary bytes as reasoning: the
// triggers are the same however the text is split into deltas, and their offsets are inside the text.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "pieces.h"
#include "speculate/trigger_matcher.h"
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

void compare(Triggers& triggers, const FuzzInput& input) {
  check(places(triggers, {input.text}, input.text.size()) ==
        places(triggers, input.pieces, input.text.size()));
}

void compare(const TriggerSet& set, const FuzzInput& input) {
  auto triggers = Triggers::compile(set);
  check(triggers.has_value());
  compare(**triggers, input);
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

// Compiling is slow: most inputs are reasoning for patterns that are compiled once.
void follow(const FuzzInput& input) {
  static const std::unique_ptr<Triggers> kTriggers =
      Triggers::compile(parse_trigger_set(kSmallSet, "small").value()).value();
  compare(*kTriggers, input);
}

// The text up to the first zero byte is a pattern; the whole text is searched for it.
void try_pattern(const FuzzInput& input, CutRule cut) {
  std::string regex = input.text.substr(0, input.text.find('\0'));
  constexpr std::size_t kShort = 24;  // longer ones are valid too, but slow to compile
  if (regex.size() > kShort || !check_trigger_regex(regex)) return;
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
