#pragma once
// Python sources by what an interpreter would see of them: without comments, blank lines and blanks at the ends of
// lines. Indents stay as they are, and so does all that stands in quotes. Pure, linear.

#include <string>
#include <string_view>

namespace specgen {

std::string without_python_comments(std::string_view source);

}  // namespace specgen
