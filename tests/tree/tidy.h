#pragma once
// A tree that keeps itself clean: the rules of the code that no compiler checks, as functions of a
// path and its content, so that each rule has tests of its own. tidy_test.cc runs them on the tree.
//
//   for (const Finding& finding : check_file("src/base/text.h", content)) ...
//
// The rules, by the name that a finding carries:
//   order      a folder of src/ includes itself and what is below it in the order of the design
//   seams      clocks, chance, threads and the environment stay behind the one door each has
//   size       no file over 600 lines; no line of C++ over 120 characters
//   space      no white space at the end of a line, no tabs in C++, a newline at the end
//   header     a header is guarded, says what it is, and drags no library in
//   name       files of C++ are named in snake_case
//   unfinished no mark of work left undone
//   machine    no path of the machine that it was written on

#include <string>
#include <string_view>
#include <vector>

namespace specgen::tidy {

struct Finding {
  std::string path;
  int line = 0;  // counts from 1
  std::string rule;
  std::string message;  // what is wrong, and what to do
};

// All findings of one file, by line. The path is relative to the root of the tree, with slashes.
// A file with a zero byte is taken for binary and has none.
std::vector<Finding> check_file(std::string_view path, std::string_view content);

// The content with comments and the insides of literals blanked out; lines and columns stay.
std::string code_only(std::string_view content);

// Whether git would ignore a file or folder that lies in no ignored folder, by the plain patterns
// of the .gitignore at the root (no '!', no '**'). The repository itself and build/ always are.
bool is_ignored(const std::string& path, bool is_folder, std::string_view gitignore);

}  // namespace specgen::tidy
