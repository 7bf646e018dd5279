#pragma once
// What is known of a child that has gone away or is to go: how it ended, and the end of what it
// wrote to standard error. One that does not end by itself within a second is killed.

#include <string>

#include "runtime/loop.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

Task<std::string> last_words(Loop& loop, Process& process);

}  // namespace specgen
