// Any bytes as a set of triggers: an error, or patterns that every engine takes. And any bytes as
// thinking: engines and deltas give the same triggers, inside the text.

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

void compare(const TriggerSet& set, const FuzzInput& input) {
  auto re2 = Triggers::compile(set, EngineChoice::re2);
  auto best = Triggers::compile(set);
  check(re2.has_value() && best.has_value());
  Places expected = places(**re2, {input.text}, input.text.size());
  check(places(**re2, input.pieces, input.text.size()) == expected);
  check(places(**best, input.pieces, input.text.size()) == expected);
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
  if (auto set = parse_trigger_set(input.text, "fuzz.toml")) {
    if (set->patterns.size() <= 4) compare(*set, input);
  }
  try_pattern(input, static_cast<CutRule>(data[0] % 4));
  return 0;
}
