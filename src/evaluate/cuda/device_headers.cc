#include "evaluate/cuda/device_headers.h"

namespace specgen {
namespace {

// Exactly as in the vendor's C++ headers, which may be included after these.
constexpr const char* kPrelude = R"cuda(#ifndef SPECGEN_PRELUDE
#define SPECGEN_PRELUDE
using int8_t = signed char;
using int16_t = signed short;
using int32_t = signed int;
using int64_t = signed long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using intptr_t = int64_t;
using uintptr_t = uint64_t;
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define UINT_MAX 0xffffffff
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INFINITY (__builtin_bit_cast(float, 0x7f800000))
#define NAN (__builtin_bit_cast(float, 0x7fffffff))
#define M_PI 3.14159265358979323846
typedef struct CUtensorMap_st {
  alignas(64) unsigned long long opaque[16];
} CUtensorMap;
#endif
)cuda";

constexpr const char* kStdint = R"cuda(#include <cuda/std/cstdint>
namespace std { using namespace ::cuda::std; }
)cuda";
constexpr const char* kStddef = R"cuda(#include <cuda/std/cstddef>
namespace std { using namespace ::cuda::std; }
)cuda";
constexpr const char* kMath = R"cuda(#include <cuda/std/cmath>
namespace std { using namespace ::cuda::std; }
)cuda";
constexpr const char* kTraits = R"cuda(#include <cuda/std/type_traits>
namespace std { using namespace ::cuda::std; }
)cuda";
constexpr const char* kLimits = R"cuda(#include <cuda/std/limits>
namespace std { using namespace ::cuda::std; }
)cuda";

}  // namespace

DeviceHeaders device_headers() {
  DeviceHeaders all;
  auto add = [&](const char* name, const char* text) {
    all.names.push_back(name);
    all.texts.push_back(text);
  };
  for (const char* name : {kDevicePrelude, "cuda.h", "stdint.h", "stddef.h", "limits.h", "float.h",
                           "math.h", "cfloat", "climits"}) {
    add(name, kPrelude);
  }
  add("cstdint", kStdint);
  add("cstddef", kStddef);
  add("cmath", kMath);
  add("type_traits", kTraits);
  add("limits", kLimits);
  return all;
}

}  // namespace specgen
