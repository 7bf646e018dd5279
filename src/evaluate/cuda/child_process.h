#pragma once
// What the compiler and executor processes of this module share: the environment they start with,
// and the report on how one ended.

#include <string>
#include <vector>

#include "runtime/loop.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

// The variables that CUDA's libraries read, and PATH, HOME and TMPDIR. Nothing else is passed on:
// keys and tokens must not reach a candidate.
std::vector<std::string> cuda_environment();

// The exit status of a child that has ended or is about to, and the end of its standard error. A
// child that is still running after a second is killed.
Task<std::string> exit_report(Loop& loop, Process& process);

}  // namespace specgen
