#include "cli/version.h"

namespace specgen {

std::string_view version() {
  return SPECGEN_VERSION;  // defined for this file alone: a new version recompiles nothing else
}

}  // namespace specgen
