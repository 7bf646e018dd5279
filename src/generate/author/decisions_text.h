#pragma once
// Decisions as sentences, and back. A decision is made by a sentence of one of a few forms, which nothing
// else in the author's text has:
//
//   I'll take `width = 8`.       I'll keep `width = 8`, `sums = 4` and `order = rows`.
//
// So what has been decided can be read from any part of the reasoning that begins at its beginning. A
// sentence counts when its full stop is there. The last word on a name holds.
//
// Beliefs are read in the same way: one that a mistake follows from is held from the sentence that states
// it until a later one sees through it.

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "generate/author/kernel_plan.h"

namespace specgen {

enum class Care {
  unstated,  // nothing was said about what could go wrong
  mistaken,  // a false belief is held
  careful,   // a false belief was seen through
};

struct Thought {
  Decisions made;
  Care care = Care::unstated;
  std::string mistake;  // that the belief leads to, or would have led to
};

using NameAndValue = std::pair<std::string, std::string>;

std::string decision_sentence(std::string_view name, std::string_view value, Random& random);
std::string keeping_sentence(std::span<const NameAndValue> kept);  // of at least one
std::string belief_sentence(const Mistake& mistake);
std::string care_sentence(const Mistake& mistake);

// What the text says; names and values that are not the plan's do not count.
Thought read_thought(const KernelPlan& plan, std::string_view text);

// Every `NAME = VALUE` in the text that the plan knows, decided or not: what advice speaks of.
std::vector<NameAndValue> mentioned(const KernelPlan& plan, std::string_view text);

// True if the text holds the beginning of a decision. For the test of all that is not one.
bool begins_a_decision(std::string_view text);

}  // namespace specgen
