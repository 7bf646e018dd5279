#pragma once
// Decisions as sentences, and back. A decision is stated by a sentence of one of a few forms, which occur nowhere
// else in the author's text:
//
//   I'll take `width = 8`.       I'll keep `width = 8`, `sums = 4` and `order = rows`.
//
// So the decisions so far can be read from any prefix of the reasoning. A sentence counts once it is complete; the
// last sentence about a name wins.
//
// Beliefs are read in the same way: a false belief, which leads to a mistake, is held from the sentence that states
// it until a later sentence corrects it.

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "generate/author/kernel_plan.h"

namespace specgen {

enum class Care {
  unstated,  // there was no statement about a possible mistake
  mistaken,  // a false belief is held
  careful,   // a false belief was corrected
};

// What the reasoning has concluded so far.
struct Conclusions {
  Decisions made;
  Care care = Care::unstated;
  std::string mistake;  // to which the belief leads, or would have led
};

using NameAndValue = std::pair<std::string, std::string>;

std::string decision_sentence(std::string_view name, std::string_view value, Random& random);
std::string keeping_sentence(std::span<const NameAndValue> kept);  // `kept` is not empty
std::string belief_sentence(const Mistake& mistake);
std::string care_sentence(const Mistake& mistake);

// Names and values that are not in the plan are ignored.
Conclusions read_conclusions(const KernelPlan& plan, std::string_view text);

// Every `NAME = VALUE` of the plan in the text, decided or not: used to read advice.
std::vector<NameAndValue> mentioned(const KernelPlan& plan, std::string_view text);

// Whether the text contains the beginning of a decision. For tests that phrases contain none.
bool begins_a_decision(std::string_view text);

}  // namespace specgen
