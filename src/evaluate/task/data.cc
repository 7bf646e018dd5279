#include "evaluate/task/data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <limits>

#include "base/assert.h"
#include "evaluate/task/counter_hash.h"
#include "evaluate/task/element_codec.h"

// A GPU must be able to reproduce every rounding.
#pragma STDC FP_CONTRACT OFF

namespace specgen {
namespace {

using Kind = Distribution::Kind;

constexpr double kDeviationOfLanes = 37837.22724;
constexpr std::size_t kBlock = 512;  // elements between the two passes, in the nearest cache

constexpr std::int32_t centred_bytes(std::uint64_t hash) {
  std::uint64_t pairs = (hash & 0x0000ffff0000ffff) + (hash >> 16 & 0x0000ffff0000ffff);
  return static_cast<std::int32_t>(pairs) + static_cast<std::int32_t>(pairs >> 32) - 131070;
}

// 2^-6 to 2^6.
template <class Real>
constexpr Real heavy_factor(std::uint64_t hash) {
  constexpr int kMantissa = std::numeric_limits<Real>::digits - 1;
  constexpr int kBias = std::numeric_limits<Real>::max_exponent - 1;
  std::uint64_t thirteenths = ((hash * 0xd1342543de82ef95) >> 32) * 13 >> 32;
  return std::bit_cast<Real>(static_cast<BitsOf<Real>>(thirteenths + (kBias - 6)) << kMantissa);
}

template <class Real>
struct Scaling {
  Real step;
  Real centre;
};

template <Kind kKind, class Real>
Scaling<Real> scaling_of(const Distribution& distribution) {
  if constexpr (kKind == Kind::normal) {
    return {static_cast<Real>(distribution.b / kDeviationOfLanes),
            static_cast<Real>(distribution.a)};
  } else if constexpr (kKind == Kind::heavy) {
    return {static_cast<Real>(distribution.a / kDeviationOfLanes), 0};
  } else {
    constexpr Real kStep = power_of_two<Real>(sizeof(Real) == 8 ? -53 : -24);
    return {static_cast<Real>(distribution.b - distribution.a) * kStep,
            static_cast<Real>(distribution.a)};
  }
}

template <Kind kKind, class Real>
Real real_of(std::uint64_t hash, Scaling<Real> scaling) {
  if constexpr (kKind == Kind::normal) {
    return static_cast<Real>(centred_bytes(hash)) * scaling.step + scaling.centre;
  } else if constexpr (kKind == Kind::heavy) {
    return static_cast<Real>(centred_bytes(hash)) * scaling.step * heavy_factor<Real>(hash);
  } else if constexpr (sizeof(Real) == 8) {
    return static_cast<Real>(static_cast<std::int64_t>(hash >> 11)) * scaling.step + scaling.centre;
  } else {
    return static_cast<Real>(static_cast<std::int32_t>(hash >> 40)) * scaling.step + scaling.centre;
  }
}

// In blocks of two passes, because both vectorise better alone.
template <Kind kKind, class Codec>
[[gnu::always_inline]] inline void fill_in_blocks(std::span<std::byte> tensor,
                                                  const Distribution& distribution,
                                                  std::uint64_t seed, std::uint64_t first) {
  using Real = std::conditional_t<std::same_as<Codec, F64>, double, float>;
  std::size_t elements = tensor.size() / sizeof(typename Codec::Stored);
  auto scaling = scaling_of<kKind, Real>(distribution);
  std::array<Real, kBlock> values;
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    std::size_t count = std::min(kBlock, elements - begin);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = real_of<kKind, Real>(counter_hash(seed, first + begin + i), scaling);
    }
    std::byte* into = tensor.data() + begin * sizeof(typename Codec::Stored);
    for (std::size_t i = 0; i < count; ++i) {
      store_at<Codec>(into, i, Codec::from_real(values[i]));
    }
  }
}

#if defined(__x86_64__)
// Eight hashes at a time on processors with 512-bit multiplication: three times as fast.
template <Kind kKind, class Codec>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]] [[clang::min_vector_width(512)]] void
fill_widely(std::span<std::byte> tensor, const Distribution& distribution, std::uint64_t seed,
            std::uint64_t first) {
  fill_in_blocks<kKind, Codec>(tensor, distribution, seed, first);
}
bool multiplies_widely() {
  static const bool known = __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512bw");
  return known;
}
#endif

// All variants give the same bits.
template <Kind kKind, class Codec>
void fill_reals(std::span<std::byte> tensor, const Distribution& distribution, std::uint64_t seed,
                std::uint64_t first) {
#if defined(__x86_64__)
  if (multiplies_widely()) return fill_widely<kKind, Codec>(tensor, distribution, seed, first);
#endif
  fill_in_blocks<kKind, Codec>(tensor, distribution, seed, first);
}

template <class Codec>
void fill_integers(std::span<std::byte> tensor, const Distribution& distribution,
                   std::uint64_t seed, std::uint64_t first) {
  std::size_t elements = tensor.size() / sizeof(typename Codec::Stored);
  const bool signs = distribution.kind == Kind::signs;  // every other one of -1, 0, 1
  auto low = static_cast<std::int64_t>(distribution.a);
  auto count = signs ? 2 : static_cast<std::uint64_t>(distribution.b - distribution.a);
  const std::int64_t stride = signs ? 2 : 1;
  for (std::size_t i = 0; i < elements; ++i) {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(counter_hash(seed, first + i)) * count;
    std::int64_t whole = low + stride * static_cast<std::int64_t>(product >> 64);
    if constexpr (std::same_as<Codec, F64>) {
      store_at<Codec>(tensor.data(), i, static_cast<double>(whole));
    } else if constexpr (kIsFloat<Codec>) {
      store_at<Codec>(tensor.data(), i, Codec::from_real(static_cast<float>(whole)));
    } else {
      store_at<Codec>(tensor.data(), i, static_cast<typename Codec::Stored>(whole));
    }
  }
}

}  // namespace

void fill(std::span<std::byte> tensor, Dtype dtype, const Distribution& distribution,
          std::uint64_t seed, std::uint64_t first) {
  SG_ASSERT(tensor.size() % size_of(dtype) == 0, "whole elements");
  const bool whole = distribution.kind == Kind::integers || distribution.kind == Kind::signs;
  SG_ASSERT(is_float(dtype) || whole, "integer tensors take integers() and signs()");
  visit_dtype(dtype, [&]<class Codec>(Codec) {
    if (whole) {
      fill_integers<Codec>(tensor, distribution, seed, first);
      return;
    }
    if constexpr (kIsFloat<Codec>) {
      if (distribution.kind == Kind::normal) {
        fill_reals<Kind::normal, Codec>(tensor, distribution, seed, first);
      } else if (distribution.kind == Kind::heavy) {
        fill_reals<Kind::heavy, Codec>(tensor, distribution, seed, first);
      } else {
        fill_reals<Kind::uniform, Codec>(tensor, distribution, seed, first);
      }
    }
  });
}

}  // namespace specgen
