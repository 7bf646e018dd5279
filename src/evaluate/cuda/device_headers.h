#pragma once
// Headers that device code expects and NVRTC does not have: fixed-width integers, limits, infinity,
// the type of a tensormap. The first is included before every source; the others replace <cstdint>,
// <cmath>, <cuda.h> and the like.

#include <vector>

namespace specgen {

inline constexpr const char* kDevicePrelude = "specgen_prelude.h";

struct DeviceHeaders {
  std::vector<const char*> names;
  std::vector<const char*> texts;  // of the same size
};
DeviceHeaders device_headers();

}  // namespace specgen
