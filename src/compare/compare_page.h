#pragma once
// A comparison on one page that loads nothing: the paper's figures redrawn from our runs, with published figures beside
// ours, and the conditions under which speculation does not pay. A pure function.

#include <span>
#include <string>

#include "compare/comparison.h"

namespace specgen {

std::string compare_page(const ComparisonInfo& info, std::span<const ComparedScenario> scenarios,
                         std::span<const ComparedScenario> sweep);

}  // namespace specgen
