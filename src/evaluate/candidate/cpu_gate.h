#pragma once
// The static checks of CPU candidates: of the source, for good messages about obvious violations, and of the compiled
// shared object, which is what would be loaded. The sandbox is behind both. Pure functions; a few milliseconds.

#include <string_view>

#include "evaluate/candidate/rejection.h"

namespace specgen {

// Only includes from an allow-list, no other way to read files, no assembler directives, no attributes that run code
// outside of calls. Handles comments, strings and joined lines as a compiler does.
Accepted<void> check_cpu_source(std::string_view source);

// An x86-64 or aarch64 shared object: nothing runs when it is loaded, nothing in it is writable,
// and it uses only what a candidate may: libm, memcpy and similar, specgen_barrier. `entry` must be a
// function of it; `signature` is how the message writes it. To be linked with -z now -z relro -z
// noexecstack.
Accepted<void> check_cpu_binary(std::string_view elf, std::string_view entry,
                                std::string_view signature = {});

}  // namespace specgen
