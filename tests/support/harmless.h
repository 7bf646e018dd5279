#pragma once
// That a hostile candidate does no harm.

#include <string>
#include <vector>

#include "support/adversary.h"

namespace specgen {

// It gets exactly the verdict that stands in it, in time, and nothing of it survives.
void expect_harmless(ToolFixture& fixture, const Adversary& adversary,
                     const std::vector<std::string>& flags = {});

}  // namespace specgen
