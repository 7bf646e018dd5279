#include "evaluate/cpu/call_mailbox.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace specgen {
namespace {

struct Seen {
  std::vector<std::uint64_t> words;
  std::vector<double> reals;
} seen;

// The signatures of tasks: buffers and axes, scalars between them, then scratch, tid, nthreads.
void few(const float* x, float* y, std::int64_t n, double a, void* scratch, int tid, int threads) {
  seen = {{reinterpret_cast<std::uint64_t>(x), reinterpret_cast<std::uint64_t>(y),
           static_cast<std::uint64_t>(n), reinterpret_cast<std::uint64_t>(scratch),
           static_cast<std::uint64_t>(tid), static_cast<std::uint64_t>(threads)},
          {a}};
}
void none() {
  seen = {{7}, {}};
}
void many(std::uint64_t a, std::uint64_t b, std::uint64_t c, double p, std::uint64_t d,
          std::uint64_t e, double q, std::uint64_t f, std::uint64_t g, double r, std::uint64_t h,
          double s, double t, double u, double v, double w, std::uint64_t i, int j, int k) {
  seen = {{a, b, c, d, e, f, g, h, i, static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(k)},
          {p, q, r, s, t, u, v, w}};
}

template <std::size_t>
using Word = std::uint64_t;
template <std::size_t... I>
void most(Word<I>... words, double a, double b, double c, double d, double e, double f, double g,
          double h) {
  seen = {{words...}, {a, b, c, d, e, f, g, h}};
}
template <std::size_t... I>
void* entry_of_most(std::index_sequence<I...>) {
  return reinterpret_cast<void*>(&most<I...>);
}

std::vector<std::uint64_t> numbered(std::size_t count) {
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < count; ++i) words.push_back(0x1000'0000'0000 + i);
  return words;
}

TEST(CallEntry, passes_pointers_integers_and_doubles) {
  auto words = numbered(4);
  words.push_back(3);
  words.push_back(8);
  call_entry(reinterpret_cast<void*>(few), words, std::array{0.5});
  EXPECT_EQ(seen.words, words);
  EXPECT_EQ(seen.reals, std::vector{0.5});
}

TEST(CallEntry, calls_a_function_without_parameters) {
  call_entry(reinterpret_cast<void*>(none), {}, {});
  EXPECT_EQ(seen.words, std::vector<std::uint64_t>{7});
}

TEST(CallEntry, passes_more_parameters_than_registers_in_order) {
  auto words = numbered(9);
  words.push_back(1);
  words.push_back(2);
  std::array reals{1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5};
  call_entry(reinterpret_cast<void*>(many), words, reals);
  EXPECT_EQ(seen.words, words);
  EXPECT_EQ(seen.reals, std::vector(reals.begin(), reals.end()));
}

TEST(CallEntry, takes_the_maximum_number_of_parameters) {
  std::vector<std::uint64_t> words = numbered(kMaxWords);
  std::vector<double> reals;
  for (std::size_t i = 0; i < kMaxReals; ++i) reals.push_back(-1.0 / static_cast<double>(i + 3));
  call_entry(entry_of_most(std::make_index_sequence<kMaxWords>{}), words, reals);
  EXPECT_EQ(seen.words, words);
  EXPECT_EQ(seen.reals, reals);
}

TEST(CallEntryDeathTest, asserts_on_more_than_that) {
  auto words = numbered(kMaxWords + 1);
  EXPECT_DEATH(call_entry(reinterpret_cast<void*>(none), words, {}), "too many parameters");
}

}  // namespace
}  // namespace specgen
