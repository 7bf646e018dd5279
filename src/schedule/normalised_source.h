#pragma once
// Sources reduced to what a compiler or interpreter sees, to recognise equal candidates. Pure, linear.

#include <string>
#include <string_view>

namespace specgen {

// C++ and CUDA: keeps tokens, the space that separates them, literals, preprocessor lines as lines, and comments that
// begin with "specgen:".
std::string normalised_source(std::string_view source);

// Python: drops comments, blank lines and trailing blanks; keeps indents and everything in quotes.
std::string without_python_comments(std::string_view source);

}  // namespace specgen
