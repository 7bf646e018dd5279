#pragma once
// The process that runs a CPU candidate or a task's reference, inside the sandbox: our own program
// as `internal-cpu-executor`, with the judge at descriptor 3. It loads the shared object (the
// static gate has checked that loading runs no code of it) and forks a child for every case. The
// child maps the buffers, applies computing_filter() if strict, and serves calls through a
// CallMailbox. No code of the candidate ever runs in the parent, which forks the next child.

#include <span>
#include <string>

namespace specgen {

int run_internal_cpu_executor(std::span<const std::string> arguments);

}  // namespace specgen
