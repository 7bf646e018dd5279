#pragma once
// That a hostile candidate does no harm.

#include <string>
#include <vector>

#include "support/adversary.h"

namespace specgen {

// It gets an allowed verdict in time, and no process of it survives.
void expect_harmless(ToolFixture& fixture, const Adversary& adversary,
                     const std::vector<std::string>& flags = {});

}  // namespace specgen
