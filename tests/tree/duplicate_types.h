#pragma once
// Two types of one name with external linkage in one namespace violate the one definition rule as
// soon as one program links both, and no compiler or linker has to say so. This finds them in the
// sources: every class, struct, union and enum that is defined at namespace scope, outside of
// unnamed namespaces.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tree/tidy.h"

namespace specgen::tidy {

// Qualified names ("specgen::Loop") of the types that this file defines, with their lines.
std::vector<std::pair<std::string, int>> types_defined_in(std::string_view content);

// `files`: path to content. A finding for every definition after the first of a name.
std::vector<Finding> find_duplicate_types(const std::map<std::string, std::string>& files);

}  // namespace specgen::tidy
