#include "generate/author/decisions_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/assert.h"

namespace specgen {
namespace {

constexpr std::string_view kKeep = "I'll keep ";
constexpr std::array<std::string_view, 6> kOpenings{
    "I'll take ", "I'll go with ", "Let me go with ", "So I settle on ", "I decide for ", kKeep};
constexpr std::string_view kBelief = "I'm confident about this: ";
constexpr std::string_view kCare = "A trap to stay out of: ";

bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

// `NAME = VALUE` at the front.
std::optional<NameAndValue> take_pair(std::string_view& text) {
  if (!text.starts_with('`')) return std::nullopt;
  std::size_t close = text.find('`', 1);
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view inside = text.substr(1, close - 1);
  std::size_t equals = inside.find(" = ");
  if (equals == std::string_view::npos) return std::nullopt;
  NameAndValue pair(inside.substr(0, equals), inside.substr(equals + 3));
  text.remove_prefix(close + 1);
  return pair;
}

// The pairs of a sentence, from after its opening to its full stop; nullopt if it is incomplete.
std::optional<std::vector<NameAndValue>> take_pairs(std::string_view& text) {
  std::vector<NameAndValue> pairs;
  while (true) {
    auto pair = take_pair(text);
    if (!pair) return std::nullopt;
    pairs.push_back(std::move(*pair));
    if (take(text, ".")) return pairs;
    if (!take(text, ", ") && !take(text, " and ")) return std::nullopt;
  }
}

bool knows(const KernelPlan& plan, const NameAndValue& pair) {
  auto decision = std::ranges::find(plan.decisions(), pair.first, &Decision::name);
  return decision != plan.decisions().end() &&
         std::ranges::find(decision->choices, pair.second, &Choice::value) !=
             decision->choices.end();
}

const Mistake* take_belief(const KernelPlan& plan, std::string_view& text) {
  for (const Mistake& mistake : plan.mistakes()) {
    if (take(text, mistake.belief)) return &mistake;
  }
  return nullptr;
}

}  // namespace

std::string decision_sentence(std::string_view name, std::string_view value, Random& random) {
  return fmt::format("{}`{} = {}`.", kOpenings[random.below(kOpenings.size() - 1)], name, value);
}

std::string keeping_sentence(std::span<const NameAndValue> kept) {
  SG_ASSERT(!kept.empty(), "there is nothing to keep");
  std::string sentence(kKeep);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    std::string_view joint = i == 0 ? "" : i + 1 == kept.size() ? " and " : ", ";
    sentence += fmt::format("{}`{} = {}`", joint, kept[i].first, kept[i].second);
  }
  return sentence + ".";
}

std::string belief_sentence(const Mistake& mistake) {
  return std::string(kBelief) + mistake.belief;
}

std::string care_sentence(const Mistake& mistake) {
  return fmt::format("{}{} That would be wrong.", kCare, mistake.belief);
}

Conclusions read_conclusions(const KernelPlan& plan, std::string_view text) {
  Conclusions concluded;
  while (!text.empty()) {
    // All forms begin with one of four letters: skip to the next.
    std::size_t next = text.find_first_of("ILSA");
    if (next == std::string_view::npos) break;
    text.remove_prefix(next);
    std::string_view rest = text;
    text.remove_prefix(1);
    if (std::ranges::any_of(kOpenings, [&](auto opening) { return take(rest, opening); })) {
      auto pairs = take_pairs(rest);
      if (!pairs) continue;
      for (NameAndValue& pair : *pairs) {
        if (knows(plan, pair)) concluded.made[pair.first] = std::move(pair.second);
      }
    } else if (take(rest, kBelief)) {
      if (const Mistake* mistake = take_belief(plan, rest)) {
        concluded.care = Care::mistaken;
        concluded.mistake = mistake->name;
      }
    } else if (take(rest, kCare)) {
      if (const Mistake* mistake = take_belief(plan, rest)) {
        concluded.care = Care::careful;
        concluded.mistake = mistake->name;
      }
    }
  }
  return concluded;
}

std::vector<NameAndValue> mentioned(const KernelPlan& plan, std::string_view text) {
  std::vector<NameAndValue> all;
  while (true) {
    std::size_t tick = text.find('`');
    if (tick == std::string_view::npos) return all;
    text.remove_prefix(tick);
    auto pair = take_pair(text);
    if (!pair) {
      text.remove_prefix(1);
    } else if (knows(plan, *pair)) {
      all.push_back(std::move(*pair));
    }
  }
}

bool begins_a_decision(std::string_view text) {
  auto begins = [&](std::string_view form) { return text.find(form) != std::string_view::npos; };
  return std::ranges::any_of(kOpenings, begins) || begins(kBelief) || begins(kCare);
}

}  // namespace specgen
