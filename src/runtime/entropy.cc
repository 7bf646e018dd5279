#include "runtime/entropy.h"

#include <sys/random.h>

#include <cerrno>

#include "base/assert.h"

namespace specgen {

std::array<std::uint64_t, 2> system_entropy() {
  std::array<std::uint64_t, 2> words{};
  // Up to 256 bytes come whole or not at all; it waits only while the machine starts.
  ssize_t got = -1;
  while (got < 0) {
    got = ::getrandom(words.data(), sizeof(words), 0);
    SG_ASSERT(got >= 0 || errno == EINTR, "the system has no randomness");
  }
  SG_ASSERT(got == static_cast<ssize_t>(sizeof(words)), "getrandom() gave a part");
  return words;
}

}  // namespace specgen
