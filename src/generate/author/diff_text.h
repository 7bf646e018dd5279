#pragma once
// The difference between two sources as SEARCH/REPLACE blocks, which is how models are asked to change a
// kernel. Each SEARCH part is found in the old source exactly once, so that blocks can be applied one by
// one in any order of reading.

#include <string>
#include <string_view>

namespace specgen {

// Empty if nothing differs. An old source without text has nothing to search: it must not be empty.
std::string search_replace_blocks(std::string_view before, std::string_view after);

}  // namespace specgen
