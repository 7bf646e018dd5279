// Apart from iteration.cc, so that who only reads how iterations ended does not link what makes them.

#include <array>

#include "speculate/iteration.h"

namespace specgen {

std::string_view to_string(IterationEnd end) {
  constexpr std::array<std::string_view, 8> kNames{"answered", "stopped",     "no_kernel",
                                                   "failed",   "interrupted", "overtaken",
                                                   "given_up", "begun_again"};
  return kNames[static_cast<std::size_t>(end)];
}

}  // namespace specgen
