#pragma once
// One type per Dtype, so that loops over millions of elements are compiled once for each and have no branch on the
// dtype. Private to this folder: others use dtype.h. Conversions are made of integer
// operations and single IEEE ones, free of branches, so that they vectorise and so that
// kInputKernelSource can reproduce them bit for bit.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "base/assert.h"
#include "evaluate/task/counter_hash.h"
#include "evaluate/task/dtype.h"

namespace specgen {

template <class Real>
using BitsOf = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;

template <class Real>
consteval Real power_of_two(int exponent) {
  constexpr int kDigits = std::numeric_limits<Real>::digits - 1;
  constexpr int kBias = std::numeric_limits<Real>::max_exponent - 1;
  return std::bit_cast<Real>(static_cast<BitsOf<Real>>(exponent + kBias) << kDigits);
}

// To a 16-bit format, to nearest, ties to even; what is too large becomes infinity, a NaN stays a
// quiet one and keeps the top of its payload.
template <int kMantissa, int kBias, class Real>
constexpr std::uint16_t round_to_16_bits(Real value) {
  using Bits = BitsOf<Real>;
  constexpr int kRealMantissa = std::numeric_limits<Real>::digits - 1;
  constexpr int kRealBias = std::numeric_limits<Real>::max_exponent - 1;
  constexpr int kDropped = kRealMantissa - kMantissa;
  constexpr Bits kRealInfinity = static_cast<Bits>(2 * kRealBias + 1) << kRealMantissa;
  constexpr Bits kSmallestNormal = static_cast<Bits>(kRealBias + 1 - kBias) << kRealMantissa;
  constexpr Bits kInfinity = static_cast<Bits>(2 * kBias + 1) << kMantissa;
  // Its last place is the smallest subnormal, so the addition rounds at that place.
  constexpr Real kAnchor = power_of_two<Real>(1 - kBias - kMantissa + kRealMantissa);

  Bits bits = std::bit_cast<Bits>(value);
  Bits magnitude = bits & ~(Bits{1} << (8 * sizeof(Real) - 1));
  Bits ties_to_even = (Bits{1} << (kDropped - 1)) - 1 + ((magnitude >> kDropped) & 1);
  Bits normal = ((magnitude + ties_to_even) >> kDropped) -
                (static_cast<Bits>(kRealBias - kBias) << kMantissa);
  Bits subnormal =
      std::bit_cast<Bits>(std::bit_cast<Real>(magnitude) + kAnchor) - std::bit_cast<Bits>(kAnchor);
  Bits quiet = kInfinity | (Bits{1} << (kMantissa - 1)) |
               ((magnitude >> kDropped) & ((Bits{1} << kMantissa) - 1));
  Bits result = magnitude < kSmallestNormal ? subnormal : normal;
  result = result < kInfinity ? result : kInfinity;
  result = magnitude > kRealInfinity ? quiet : result;
  return static_cast<std::uint16_t>(result | (bits >> (8 * sizeof(Real) - 16) & 0x8000));
}

constexpr float float_from_half(std::uint16_t half) {
  std::uint32_t magnitude = half & 0x7fffU;
  std::uint32_t normal = (magnitude << 13) + (112U << 23);
  std::uint32_t special = (magnitude << 13) | 0x7f800000U;
  std::uint32_t subnormal = std::bit_cast<std::uint32_t>(
      static_cast<float>(static_cast<std::int32_t>(magnitude)) * power_of_two<float>(-24));
  std::uint32_t bits = magnitude < 0x400 ? subnormal : normal;
  bits = magnitude >= 0x7c00 ? special : bits;
  return std::bit_cast<float>(bits | (half & 0x8000U) << 16);
}

struct F64 {
  using Stored = double;
  static constexpr double to_double(double stored) { return stored; }
  static constexpr double from_real(double value) { return value; }
};
struct F32 {
  using Stored = float;
  static constexpr double to_double(float stored) { return static_cast<double>(stored); }
  static constexpr float from_real(std::floating_point auto value) {
    return static_cast<float>(value);
  }
};
struct F16 {
  using Stored = std::uint16_t;
  static constexpr double to_double(std::uint16_t stored) {
    return static_cast<double>(float_from_half(stored));
  }
  static constexpr std::uint16_t from_real(std::floating_point auto value) {
    return round_to_16_bits<10, 15>(value);
  }
};
struct Bf16 {
  using Stored = std::uint16_t;
  static constexpr double to_double(std::uint16_t stored) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16));
  }
  static constexpr std::uint16_t from_real(std::floating_point auto value) {
    return round_to_16_bits<7, 127>(value);
  }
};
// NaN becomes 0, what is too large the nearest end of the range.
template <class Integer>
struct Whole {
  using Stored = Integer;
  static constexpr double to_double(Integer stored) { return static_cast<double>(stored); }
  static Integer from_real(double value) {
    constexpr auto kMin = static_cast<double>(std::numeric_limits<Integer>::min());
    constexpr double kLimit = std::numeric_limits<Integer>::digits == 63   ? 0x1p63
                              : std::numeric_limits<Integer>::digits == 31 ? 0x1p31
                                                                           : 256.0;
    double whole = std::nearbyint(value);
    if (whole >= kLimit) return std::numeric_limits<Integer>::max();
    if (whole < kMin) return std::numeric_limits<Integer>::min();
    return whole == whole ? static_cast<Integer>(whole) : Integer{0};
  }
};
using I64 = Whole<std::int64_t>;
using I32 = Whole<std::int32_t>;
using U8 = Whole<std::uint8_t>;

// Calls with an object of the type for this dtype: the only switch.
template <class Visitor>
decltype(auto) visit_dtype(Dtype dtype, Visitor&& visitor) {
  switch (dtype) {
    case Dtype::f64:
      return visitor(F64{});
    case Dtype::f32:
      return visitor(F32{});
    case Dtype::f16:
      return visitor(F16{});
    case Dtype::bf16:
      return visitor(Bf16{});
    case Dtype::i64:
      return visitor(I64{});
    case Dtype::i32:
      return visitor(I32{});
    case Dtype::u8:
      return visitor(U8{});
  }
  SG_PANIC("a dtype that is none");
}

template <class Codec>
inline constexpr bool kIsFloat =
    !std::same_as<Codec, I64> && !std::same_as<Codec, I32> && !std::same_as<Codec, U8>;

// Tensors need not be aligned: a piece of one may begin anywhere.
template <class Codec>
typename Codec::Stored stored_at(const std::byte* tensor, std::size_t index) {
  typename Codec::Stored stored;
  std::memcpy(&stored, tensor + index * sizeof(stored), sizeof(stored));
  return stored;
}
template <class Codec>
void store_at(std::byte* tensor, std::size_t index, typename Codec::Stored stored) {
  std::memcpy(tensor + index * sizeof(stored), &stored, sizeof(stored));
}

// The bits that element `index` is poisoned with. A NaN that a processor makes by itself has a
// payload of zeros or of ones: those are left out, so that such a NaN counts as written.
template <class Codec>
constexpr auto poison_bits(std::uint64_t secret, std::uint64_t index) {
  if constexpr (std::same_as<Codec, F64>) {
    constexpr std::uint64_t kPayloads = (std::uint64_t{1} << 51) - 2;
    return 0x7ff8000000000000 | (1 + counter_hash(secret, 0) % kPayloads);
  } else if constexpr (std::same_as<Codec, F32>) {
    return static_cast<std::uint32_t>(0x7fc00000 | (1 + counter_hash(secret, 0) % 0x3ffffe));
  } else if constexpr (std::same_as<Codec, F16>) {
    return static_cast<std::uint16_t>(0x7e00 | (1 + counter_hash(secret, 0) % 0x1fe));
  } else if constexpr (std::same_as<Codec, Bf16>) {
    return static_cast<std::uint16_t>(0x7fc0 | (1 + counter_hash(secret, 0) % 0x3e));
  } else {
    return static_cast<std::make_unsigned_t<typename Codec::Stored>>(counter_hash(secret, index));
  }
}

}  // namespace specgen
