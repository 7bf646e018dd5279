#include "kvcache/stream_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

namespace specgen {

void copy_and_fetch_more(char* to, const char* from, std::size_t bytes) {
#ifdef __x86_64__
  constexpr std::size_t kLine = 64;
  const std::size_t to_line = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
  const std::size_t head = std::min(bytes, to_line);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; bytes - at >= kLine; at += kLine) {
    _mm_prefetch(from + at + bytes, _MM_HINT_T0);  // only a hint: the address may be invalid
    for (std::size_t part = 0; part < kLine; part += sizeof(__m128i)) {
      __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + part));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + part), word);
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();  // non-temporal stores are weakly ordered
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace specgen
