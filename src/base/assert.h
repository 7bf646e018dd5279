#pragma once
// Asserts are for bugs, and stay on in release builds: a wrong verdict costs more than a branch.
// What can fail without a bug (a full disk, a bad file) is a Result, never an assert.
//
//   SG_ASSERT(count_ > 0, "release() without acquire()");

#include <string_view>

namespace specgen {

[[noreturn]] void panic(std::string_view what, const char* file, int line);

}  // namespace specgen

#define SG_ASSERT(condition, what)                                \
  do {                                                            \
    if (!(condition)) [[unlikely]]                                \
      ::specgen::panic(#condition ": " what, __FILE__, __LINE__); \
  } while (false)

#define SG_PANIC(what) ::specgen::panic(what, __FILE__, __LINE__)

// For expensive checks: compiled in by the presets sim and asan only.
#ifdef SPECGEN_CHECK_INVARIANTS
#define SG_INVARIANT(condition, what) SG_ASSERT(condition, what)
#else
#define SG_INVARIANT(condition, what) \
  do {                                \
  } while (false)
#endif
