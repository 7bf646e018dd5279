#pragma once
// The static gate of CPU candidates: what can be seen in the source, and what can be seen in the
// shared object that came of it. The first is for good messages and the obvious, the second looks
// at what would really be loaded; the sandbox is behind both. Pure functions; a few milliseconds.

#include <string_view>

#include "evaluate/candidate/rejection.h"

namespace specgen {

// Includes from an allow-list, no other reading of files, no assembler directives, no attributes
// that run code outside of calls. Sees through comments, strings and joined lines.
Accepted<void> check_cpu_source(std::string_view source);

// An x86-64 or aarch64 shared object: nothing runs when it is loaded, nothing in it is writable,
// and it uses only what a candidate may: libm, memcpy and kin, specgen_barrier. `entry` must be a
// function of it; `signature` is how the message writes it. To be linked with -z now -z relro -z
// noexecstack.
Accepted<void> check_cpu_binary(std::string_view elf, std::string_view entry,
                                std::string_view signature = {});

}  // namespace specgen
