#include "speculate/triggers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace specgen {
namespace {

using Category = TriggerCategory;
using Names = std::vector<std::string>;

TriggerPattern pattern(std::string name, std::string regex, CutRule cut, double weight = 0.5,
                       Category category = Category::decision_made) {
  return {.name = std::move(name),
          .regex = std::move(regex),
          .category = category,
          .cut = cut,
          .weight = weight};
}

TriggerSet set_of(std::vector<TriggerPattern> patterns, std::int64_t interval_tokens = 0) {
  TriggerSet set;
  set.family = "test";
  set.origin = "test.toml";
  set.patterns = std::move(patterns);
  set.interval_tokens = interval_tokens;
  return set;
}

std::string shown(const Trigger& trigger) {
  return fmt::format("{}@{}", trigger.pattern ? trigger.pattern->name : "interval", trigger.offset);
}

// The triggers as "name@offset", ordered by offset.
std::vector<std::string> fired(Triggers& triggers, const std::vector<std::string>& deltas) {
  TriggerScanner scanner(triggers);
  std::vector<Trigger> found;
  for (const std::string& delta : deltas) scanner.feed(delta, found);
  std::ranges::sort(found, [](const Trigger& a, const Trigger& b) {
    return std::pair(a.offset, shown(a)) < std::pair(b.offset, shown(b));
  });
  std::vector<std::string> names;
  for (const Trigger& trigger : found) names.push_back(shown(trigger));
  return names;
}

std::unique_ptr<Triggers> compile(TriggerSet set) {
  auto triggers = Triggers::compile(std::move(set));
  if (!triggers) throw std::runtime_error(triggers.error().text());
  return std::move(*triggers);
}
Names fire(TriggerSet set, const std::string& text) {
  auto triggers = compile(std::move(set));
  return fired(*triggers, {text});
}

TEST(Triggers, a_trigger_split_over_deltas_fires_once) {
  auto triggers = compile(set_of({pattern("go", "go with ", CutRule::after_match)}));
  const std::string text = "I'll GO with it.";
  EXPECT_EQ(fired(*triggers, {text}), Names{"go@13"});
  std::vector<std::string> letters;
  for (char c : text) letters.emplace_back(1, c);
  EXPECT_EQ(fired(*triggers, letters), Names{"go@13"});
  EXPECT_EQ(fired(*triggers, {"", "I'll GO w", "", "ith", " ", "it."}), Names{"go@13"});
}

TEST(Triggers, the_delta_that_completes_a_match_fires_it) {
  auto triggers = compile(set_of({pattern("go", "go with ", CutRule::after_match)}));
  TriggerScanner scanner(*triggers);
  std::vector<Trigger> found;
  scanner.feed("I'll go with", found);
  EXPECT_TRUE(found.empty());
  scanner.feed(" ", found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].offset, 13U);
}

TEST(Triggers, streams_do_not_affect_each_other) {
  auto triggers = compile(set_of({pattern("go", "go with ", CutRule::after_match)}));
  TriggerScanner one(*triggers), two(*triggers);
  std::vector<Trigger> found;
  one.feed("go w", found);
  two.feed("ith ", found);
  EXPECT_TRUE(found.empty());
  one = std::move(two);
  one.feed("go with ", found);
  EXPECT_EQ(found.size(), 1U);
}

TEST(Triggers, case_matters_only_with_match_case) {
  TriggerPattern strict = pattern("x", "Wait,", CutRule::after_match);
  strict.match_case = true;
  EXPECT_EQ(fire(set_of({strict}), "wait, WAIT,"), Names{});
  EXPECT_EQ(fire(set_of({strict}), "Wait,"), Names{"x@5"});
}

TEST(Triggers, the_first_line_begins_like_any_other) {
  EXPECT_EQ(fire(set_of({pattern("x", "\\nwait,", CutRule::after_match)}), "Wait, no"),
            Names{"x@5"});
}

TEST(Triggers, before_a_match_is_before_its_first_word) {
  auto set = set_of({pattern("x", "(?:\\n|[.!] )(?:but |hmm,? )?wait[,.]", CutRule::before_match)});
  EXPECT_EQ(fire(set, "It is so.\n\nBut wait, no"), Names{"x@11"});
  EXPECT_EQ(fire(set, "It is so. Hmm, wait. No"), Names{"x@10"});
  EXPECT_EQ(fire(set, "Wait, no"), Names{"x@0"});
}

// RE2 2022-06 in Latin-1 mode finds nothing here.
TEST(Triggers, alternatives_that_begin_with_the_same_character_above_ascii_match) {
  for (bool match_case : {true, false}) {
    for (CutRule cut : {CutRule::after_match, CutRule::before_match}) {
      TriggerPattern same = pattern("x", "é|éé|éa", cut);
      same.match_case = match_case;
      EXPECT_EQ(fire(set_of({same}), "zé"), Names{"x@3"});
      EXPECT_EQ(fire(set_of({same}), "\x80\xc3\xc3\xa9"), Names{"x@4"});
    }
  }
}

TEST(Triggers, a_pattern_counts_characters_and_a_character_may_be_split_over_deltas) {
  auto set = set_of({pattern("x", "it[’']s é{2}[.]", CutRule::after_match)});
  EXPECT_EQ(fire(set, "It’s ÉÉ."), Names{"x@12"});
  auto triggers = compile(set);
  std::vector<std::string> bytes;
  for (char c : std::string("it’s éé.")) bytes.emplace_back(1, c);
  EXPECT_EQ(fired(*triggers, bytes), Names{"x@12"});
}

TEST(Triggers, the_longest_match_fires_wherever_it_is_split) {
  auto triggers = compile(set_of({pattern("x", "<[^>]{62}>", CutRule::after_match)}));
  std::string text = "ab<";
  for (int i = 0; i < 62; ++i) text += "\xf0\x9f\x98\x80";
  text += ">";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    EXPECT_EQ(fired(*triggers, {text.substr(0, at), text.substr(at)}), Names{"x@252"}) << at;
  }
}

TEST(Triggers, after_a_line_waits_for_its_end) {
  auto triggers = compile(set_of({pattern("x", "use ", CutRule::after_line)}));
  TriggerScanner scanner(*triggers);
  std::vector<Trigger> found;
  scanner.feed("I use a tile", found);
  scanner.feed(" of 32", found);
  EXPECT_TRUE(found.empty());
  scanner.feed(".\nNext", found);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].offset, 20U);
}

TEST(Triggers, the_wait_for_the_end_of_a_line_is_bounded) {
  auto set = set_of({pattern("x", "use ", CutRule::after_line)});
  EXPECT_EQ(fire(set, "use " + std::string(399, 'a')), Names{});
  EXPECT_EQ(fire(set, "use " + std::string(3000, 'a') + "\n"), Names{"x@404"});
}

TEST(Triggers, after_a_paragraph_waits_for_a_blank_line) {
  auto set = set_of({pattern("x", "use ", CutRule::after_paragraph)});
  EXPECT_EQ(fire(set, "I use a\nb\n \t\nNext"), Names{"x@13"});
  EXPECT_EQ(fire(set, "I use a\nb\nc\n"), Names{});
  EXPECT_EQ(fire(set, "use " + std::string(5000, 'a')), Names{"x@1604"});
}

TEST(Triggers, a_match_that_ends_its_line_is_cut_there) {
  EXPECT_EQ(fire(set_of({pattern("x", "done\\.\\n", CutRule::after_line)}), "done.\nx"),
            Names{"x@6"});
  EXPECT_EQ(fire(set_of({pattern("x", "done\\.\\n", CutRule::after_paragraph)}), "done.\n\nx"),
            Names{"x@7"});
}

TEST(Triggers, one_match_that_ends_in_many_places_fires_once) {
  auto set = set_of({pattern("x", "use[a-z ]{0,20}", CutRule::after_match)});
  EXPECT_EQ(fire(set, "use a tile of many"), Names{"x@3"});
}

TEST(Triggers, a_second_match_nearby_needs_a_greater_weight) {
  auto set = set_of({pattern("light", "tile", CutRule::after_match, 0.4),
                     pattern("heavy", "block", CutRule::after_match, 0.8)});
  EXPECT_EQ(fire(set, "tile block tile"), (Names{"light@4", "heavy@10"}));
  EXPECT_EQ(fire(set, "block tile" + std::string(60, ' ') + "tile"),
            (Names{"heavy@5", "light@74"}));
}

TEST(Triggers, of_several_matches_at_one_place_the_greatest_weight_fires) {
  auto set = set_of({pattern("light", "tile", CutRule::after_match, 0.4),
                     pattern("heavy", "[a-z]ile", CutRule::after_match, 0.8)});
  EXPECT_EQ(fire(set, "tile"), Names{"heavy@4"});
}

TEST(Triggers, inside_code_only_its_end_fires) {
  auto set =
      set_of({pattern("word", "tile", CutRule::after_match),
              pattern("end", "\\n```\\n", CutRule::after_match, 0.9, Category::code_finished)});
  EXPECT_EQ(fire(set, "```cpp\nint tile;\n```\nSo the tile"), (Names{"end@21"}));
  EXPECT_EQ(fire(set, "```\nint tile;\n```\n" + std::string(70, ' ') + "tile"),
            (Names{"end@18", "word@92"}));
  EXPECT_EQ(fire(set, "tile\n```\n"), Names{"word@4"});
}

TEST(Triggers, a_code_block_without_an_end_is_text_again_after_64_kib) {
  auto set = set_of({pattern("word", "tile", CutRule::after_match)});
  EXPECT_EQ(fire(set, "```cpp\n" + std::string(1000, 'x') + " tile"), Names{});
  EXPECT_EQ(fire(set, "```cpp\n" + std::string(70'000, 'x') + " tile").size(), 1U);
}

TEST(Triggers, an_interval_fires_at_the_next_line_end) {
  std::string text = std::string(310, 'a') + "\nb";
  EXPECT_EQ(fire(set_of({}, 100), text), Names{"interval@311"});
  EXPECT_EQ(fire(set_of({}, 1000), text), Names{});
  EXPECT_EQ(fire(set_of({}, 100), "```cpp\n" + text + "\n```\nx\ny"), Names{"interval@326"});
}

TEST(Triggers, an_interval_counts_from_the_last_trigger) {
  std::string half = std::string(199, 'a') + "\n";
  auto set = set_of({pattern("word", "tile", CutRule::after_match)}, 100);
  EXPECT_EQ(fire(set, half + "tile\n" + half), Names{"word@204"});
  EXPECT_EQ(fire(set, half + "tile\n" + half + half), (Names{"word@204", "interval@605"}));
}

TEST(Triggers, a_weight_of_zero_switches_a_pattern_off) {
  EXPECT_EQ(fire(set_of({pattern("x", "tile", CutRule::after_match, 0)}), "tile"), Names{});
}

TEST(Triggers, a_bad_pattern_is_named) {
  auto triggers = Triggers::compile(set_of({pattern("worse", "a*", CutRule::after_match)}));
  ASSERT_FALSE(triggers);
  EXPECT_EQ(triggers.error().code, ErrorCode::bad_triggers);
  EXPECT_EQ(triggers.error().context,
            "test.toml: pattern 'worse': a*: * has no bound; write for example {0,8}");
}

std::string random_text(Random& random) {
  const std::vector<std::string> parts{"wait,",
                                       "\n",
                                       "\n\n",
                                       "```",
                                       "```cpp\n",
                                       "\n```\n",
                                       "use ",
                                       " tile",
                                       "go with ",
                                       "hmm, ",
                                       "a",
                                       "Actually",
                                       ". ",
                                       "’",
                                       "\xff",
                                       "Ÿ",
                                       " looks right.",
                                       "I'll ",
                                       "~~~\n",
                                       "```\n",
                                       "\r\n",
                                       "    ",
                                       "\t```",
                                       std::string(150, 'z'),
                                       "block"};
  std::string text;
  for (std::uint64_t count = random.below(120); count > 0; --count) {
    text += parts[random.below(parts.size())];
  }
  return text;
}

std::vector<std::string> cut_anywhere(const std::string& text, Random& random) {
  std::vector<std::string> deltas;
  std::uint64_t longest = 1 + random.below(40);
  for (std::size_t at = 0; at < text.size();) {
    deltas.push_back(text.substr(at, random.below(longest + 1)));
    at += deltas.back().size();
  }
  return deltas;
}

TEST(Triggers, how_a_text_is_split_changes_nothing) {
  auto triggers = compile(set_of(
      {pattern("wait", "(?:\\n|[.] )(?:hmm, )?(?:wait|actually)[, ]", CutRule::before_match, 0.6),
       pattern("go", "(?:use|go with) [^\\n]{0,10}", CutRule::after_line, 0.7),
       pattern("long", "z{20,40}[^z]", CutRule::after_match, 0.3),
       pattern("right", "(?:looks? |’)right\\.?", CutRule::after_paragraph, 0.8),
       pattern("character", "ÿ", CutRule::after_match, 0.2),
       pattern("end", "\\n[ \\t]{0,4}```\\r?\\n", CutRule::after_paragraph, 0.9,
               Category::code_finished)},
      120));
  Random random(7);
  std::size_t seen = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string text = random_text(random);
    const Names expected = fired(*triggers, {text});
    seen += expected.size();
    ASSERT_EQ(fired(*triggers, cut_anywhere(text, random)), expected) << text;
  }
  EXPECT_GT(seen, 400U);
}

}  // namespace
}  // namespace specgen
