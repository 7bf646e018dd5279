#include "evaluate/cpu/call_mailbox.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"

namespace specgen {

// Not std::atomic::wait, which works within one process only.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

namespace {

template <std::size_t>
using Word = std::uint64_t;

// The types differ on purpose, which the sanitizer would report.
template <std::size_t... I>
__attribute__((no_sanitize("function"))) void call_with(
    void* entry, const std::array<std::uint64_t, kMaxWords>& words,
    const std::array<double, kMaxReals>& r, std::index_sequence<I...>) {
  using Function =
      void (*)(Word<I>..., double, double, double, double, double, double, double, double);
  reinterpret_cast<Function>(entry)(words[I]..., r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]);
}

}  // namespace

void call_entry(void* entry, std::span<const std::uint64_t> words, std::span<const double> reals) {
  SG_ASSERT(words.size() <= kMaxWords && reals.size() <= kMaxReals, "too many parameters");
  std::array<std::uint64_t, kMaxWords> all_words{};
  std::array<double, kMaxReals> all_reals{};
  std::ranges::copy(words, all_words.begin());
  std::ranges::copy(reals, all_reals.begin());
  call_with(entry, all_words, all_reals, std::make_index_sequence<kMaxWords>{});
}

}  // namespace specgen
