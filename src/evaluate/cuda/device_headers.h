#pragma once
// Headers that NVRTC does not have and that device code is used to: the fixed-width integers, the
// limits, infinity, the type of a tensormap. The first is included before every source; the others
// are what <cstdint>, <cmath>, <cuda.h> and the like are found as.

#include <vector>

namespace specgen {

inline constexpr const char* kDevicePrelude = "specgen_prelude.h";

struct DeviceHeaders {
  std::vector<const char*> names;
  std::vector<const char*> texts;  // as many
};
DeviceHeaders device_headers();

}  // namespace specgen
