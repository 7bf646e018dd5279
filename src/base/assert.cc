#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace specgen {

void panic(std::string_view what, const char* file, int line) {
  std::fprintf(stderr, "specgen: this is a bug: %.*s (%s:%d)\n", static_cast<int>(what.size()),
               what.data(), file, line);
  std::abort();
}

}  // namespace specgen
