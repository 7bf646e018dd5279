#pragma once
// Runs a tool for its output; any failure becomes one line of text.

#include <string>
#include <string_view>

#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct ToolRun {
  bool ok = false;      // it ended by itself with exit code 0
  std::string output;   // standard output, also of a run that failed
  std::string problem;  // one printable line; empty if ok
};

// The tool runs in the C locale, because its output is parsed and shown.
Task<ToolRun> run_tool(Processes& processes, Command command);

// For messages and JSON: control characters become spaces, invalid UTF-8 becomes '?', and a long text is cut.
std::string printable(std::string_view text);

// The dotted number that follows the mark, "13.0.88" in "release 13.0, V13.0.88" after ", V"; empty
// if the mark is not there or no number follows.
std::string number_after(std::string_view text, std::string_view mark);

// Versions from the output of the tools.
std::string compiler_version(std::string_view output);  // g++ and clang++
std::string nvcc_version(std::string_view output);
std::string nsight_version(std::string_view output);  // ncu and compute-sanitizer

}  // namespace specgen
