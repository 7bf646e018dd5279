#pragma once
// The launcher: this same program, called as `PROGRAM internal-sandbox SPEC -- ARGV...`, takes every
// right from itself and then becomes ARGV, through bubblewrap where there is one. It runs between
// fork and the untrusted program, so that nothing of ours is left inside.
//
// Descriptors from 3 on reach ARGV as they are. What cannot be set up ends it with kSandboxFailed and a
// line on standard error: nothing runs with a wall missing.

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

// The words after `internal-sandbox`. `--inside SPEC -- ARGV...` is its second half within bubblewrap:
// what can only be done there, and nothing starts before bubblewrap itself is bound.
[[noreturn]] void run_sandbox_launcher(std::span<const std::string> words);

}  // namespace specgen
