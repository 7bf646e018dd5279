#pragma once
// The process that runs a CPU candidate (or a task's reference), inside the sandbox: our own program
// as `internal-cpu-executor`, with the judge at descriptor 3. It loads the shared object, whose
// static gate has made sure that loading runs no code of it, and forks a child for every case that
// is laid out. The child maps the buffers, gives up all system calls (strict), and calls what it is
// told through a CallMailbox; no code of the candidate ever ran in the process that forks the next one.

#include <span>
#include <string>

namespace specgen {

int run_internal_cpu_executor(std::span<const std::string> words);

}  // namespace specgen
