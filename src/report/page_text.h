#pragma once
// Text for pages and exported files: templates with {{names}}, and escaping for markup.

#include <map>
#include <string>
#include <string_view>

namespace specgen {

using TemplateValues = std::map<std::string, std::string, std::less<>>;

// Replaces every {{name}} by its value, in one pass: a value may contain braces. A name without a value is a bug.
std::string fill_template(std::string_view text, const TemplateValues& values);

// For text between tags and in quoted attributes.
std::string xml_escaped(std::string_view text);

}  // namespace specgen
