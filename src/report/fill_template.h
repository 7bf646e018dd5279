#pragma once
// Text with {{names}} in it. One pass: what is filled in is not looked at again, so that a value may hold braces.

#include <map>
#include <string>
#include <string_view>

namespace specgen {

using TemplateValues = std::map<std::string, std::string, std::less<>>;

// Every name must be there: templates are ours, and one that asks for more is a bug.
std::string fill_template(std::string_view text, const TemplateValues& values);

}  // namespace specgen
