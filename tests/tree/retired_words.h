#pragma once
// Words that the project's glossary has retired, because a new reader would have to look them up:
// the finding names the word to use instead. Checked in code, comments, messages and docs.
//
//   for (const Finding& finding : check_retired_words("docs/guide/tasks.md", content)) ...
//
// Data that imitates other writers (the built-in author's plans and phrases) is left alone. A line
// that must name a retired public name, because files of users still contain it, says so by the
// comment "retired name" on that line.

#include <string_view>
#include <vector>

#include "tree/tidy.h"

namespace specgen::tidy {

std::vector<Finding> check_retired_words(std::string_view path, std::string_view content);

}  // namespace specgen::tidy
