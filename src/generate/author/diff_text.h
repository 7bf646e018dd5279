#pragma once
// The difference between two sources as SEARCH/REPLACE blocks, the form in which models change a kernel. Each SEARCH
// part occurs exactly once in the source that the blocks before it produce, so that blocks can be applied in order.

#include <string>
#include <string_view>

namespace specgen {

// Empty if the sources are equal. `before` must not be empty.
std::string search_replace_blocks(std::string_view before, std::string_view after);

}  // namespace specgen
