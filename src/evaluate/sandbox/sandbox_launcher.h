#pragma once
// The launcher: this same program, called as `PROGRAM internal-sandbox SPEC -- ARGV...`, drops
// every right and then executes ARGV, from L2 on through bubblewrap. It runs between fork and the
// untrusted program, so that nothing of ours is left inside.
//
// Descriptors from 3 on reach ARGV unchanged. If any part cannot be set up, the launcher ends with
// kSandboxFailed and a line on standard error, and ARGV does not run.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/sandbox/sandbox_spec.h"

namespace specgen {

inline constexpr std::string_view kInternalSandbox = "internal-sandbox";
inline constexpr int kSandboxFailed = 125;

// Returns only with an error.
Result<void> enter_sandbox(const SandboxSpec& spec, std::vector<std::string> argv);

// The arguments after `internal-sandbox`. `--inside SPEC -- ARGV...` is the second half, inside
// bubblewrap: it waits until bubblewrap itself has applied the filter, and does what is possible
// only there.
[[noreturn]] void run_sandbox_launcher(std::span<const std::string> arguments);

}  // namespace specgen
