#include "base/sha256_x86.h"

#include "base/assert.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#endif

namespace specgen {

#ifdef __x86_64__
namespace {

constexpr std::size_t kBlock = 64;

// FIPS 180-4, section 4.2.2.
alignas(16) constexpr std::array<std::uint32_t, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The instructions want the eight words of the state as two vectors, {f, e, b, a} and {h, g, d, c} from the lowest.
struct State {
  __m128i abef;
  __m128i cdgh;
};

__attribute__((target("sha,sse4.1"))) void add_blocks(State& state, const char* bytes,
                                                      std::size_t blocks) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  for (; blocks > 0; --blocks, bytes += kBlock) {
    State before = state;
    std::array<__m128i, 4> words;  // the last sixteen words of the message, four in each
    for (std::size_t i = 0; i < 4; ++i) {
      __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
      words[i] = _mm_shuffle_epi8(loaded, big_endian);
    }
#pragma clang loop unroll(full)
    for (std::size_t four = 0; four < 16; ++four) {  // rounds at a time
      __m128i now = words[four % 4];
      if (four >= 4) {
        // now: w[t-16..], then w[t-12..], w[t-8..], w[t-4..]; w[t-7..] stands across the last two.
        __m128i last = words[(four + 3) % 4];
        __m128i seven_ago = _mm_alignr_epi8(last, words[(four + 2) % 4], 4);
        now = _mm_sha256msg1_epu32(now, words[(four + 1) % 4]);
        now = _mm_sha256msg2_epu32(_mm_add_epi32(now, seven_ago), last);
        words[four % 4] = now;
      }
      __m128i round = _mm_add_epi32(
          now, _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants.data()) + four));
      state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, round);
      round = _mm_shuffle_epi32(round, 0x0e);  // the upper two of the four
      state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, round);
    }
    state.abef = _mm_add_epi32(state.abef, before.abef);
    state.cdgh = _mm_add_epi32(state.cdgh, before.cdgh);
  }
}

}  // namespace

bool has_sha256_instructions() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kSha = 1U << 29;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0 &&
           __builtin_cpu_supports("sse4.1");
  }();
  return has;
}

std::array<std::uint8_t, 32> sha256_by_instructions(std::string_view bytes) {
  State state{_mm_set_epi32(0x6a09e667, static_cast<int>(0xbb67ae85), 0x510e527f,
                            static_cast<int>(0x9b05688c)),
              _mm_set_epi32(0x3c6ef372, static_cast<int>(0xa54ff53a), 0x1f83d9ab, 0x5be0cd19)};
  std::size_t whole = bytes.size() / kBlock;
  add_blocks(state, bytes.data(), whole);
  // What is left, a one bit, zeros, and the length in bits in the last eight bytes.
  std::array<char, 2 * kBlock> tail{};
  std::string_view rest = bytes.substr(whole * kBlock);
  std::ranges::copy(rest, tail.begin());
  tail[rest.size()] = static_cast<char>(0x80);
  std::size_t blocks = rest.size() + 1 + sizeof(std::uint64_t) > kBlock ? 2 : 1;
  std::uint64_t bits = std::byteswap(std::uint64_t{bytes.size()} * 8);
  std::memcpy(tail.data() + blocks * kBlock - sizeof bits, &bits, sizeof bits);
  add_blocks(state, tail.data(), blocks);

  std::array<std::uint32_t, 4> abef, cdgh;
  std::memcpy(abef.data(), &state.abef, sizeof abef);
  std::memcpy(cdgh.data(), &state.cdgh, sizeof cdgh);
  std::array<std::uint32_t, 8> words{abef[3], abef[2], cdgh[3], cdgh[2],
                                     abef[1], abef[0], cdgh[1], cdgh[0]};
  for (std::uint32_t& word : words) word = std::byteswap(word);
  return std::bit_cast<std::array<std::uint8_t, 32>>(words);
}

#else

bool has_sha256_instructions() {
  return false;
}

std::array<std::uint8_t, 32> sha256_by_instructions(std::string_view) {
  SG_ASSERT(false, "this processor has no such instructions");
  return {};
}

#endif

}  // namespace specgen
