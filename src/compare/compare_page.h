#pragma once
// A comparison on one page that needs nothing else: the paper's figures redrawn from our runs, with what was published
// beside them where it was published, and the conditions under which speculation does not pay. Pure.

#include <span>
#include <string>

#include "compare/comparison.h"

namespace specgen {

std::string compare_page(const ComparisonInfo& info, std::span<const ComparedScenario> scenarios,
                         std::span<const ComparedScenario> sweep);

}  // namespace specgen
