#include "runtime/entropy.h"

#include <sys/random.h>

#include <cerrno>

#include "base/assert.h"

namespace specgen {

std::array<std::uint64_t, 2> system_entropy() {
  std::array<std::uint64_t, 2> words{};
  // Up to 256 bytes are returned at once or not at all; it blocks only early during boot.
  ssize_t got = -1;
  while (got < 0) {
    got = ::getrandom(words.data(), sizeof(words), 0);
    SG_ASSERT(got >= 0 || errno == EINTR, "getrandom failed");
  }
  SG_ASSERT(got == static_cast<ssize_t>(sizeof(words)), "getrandom returned too few bytes");
  return words;
}

}  // namespace specgen
