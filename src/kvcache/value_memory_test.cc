#include "kvcache/value_memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"

namespace specgen {
namespace {

constexpr std::size_t kKiB = 1 << 10, kMiB = 1 << 20;

struct Pool {
  explicit Pool(std::size_t pages) {
    auto opened = PageArena::open({.max = {pages * PageArena::kPageBytes},
                                   .ready_at_open = {pages * PageArena::kPageBytes},
                                   .ready_per_s = GiB(64)});
    EXPECT_TRUE(opened);
    arena = std::move(*opened);
    pool.emplace(*arena);
  }
  std::size_t pages_for(std::size_t bytes) {
    auto memory = pool->take(bytes, 1);
    return memory ? arena->out() : 0;
  }
  std::unique_ptr<PageArena> arena;
  std::optional<ValuePool> pool;
};

TEST(ValueMemory, whole_pages_waste_nothing) {
  Pool pool(20);
  EXPECT_EQ(pool.pages_for(36 * kMiB), 18u);
  EXPECT_EQ(pool.pages_for(36 * kMiB + kMiB), 19u);
  EXPECT_EQ(pool.pages_for(2 * kMiB), 1u);
  EXPECT_EQ(pool.pages_for(4096), 0u);
  EXPECT_EQ(pool.arena->out(), 0u);
  EXPECT_EQ(pool.pool->used(), Bytes{0});
}

TEST(ValueMemory, the_rest_of_a_value_shares_a_page) {
  Pool pool(2);
  std::vector<ValueMemory> all;
  for (int i = 0; i < 4; ++i) all.push_back(*pool.pool->take(kMiB, 1));
  EXPECT_EQ(pool.arena->out(), 2u);
  EXPECT_FALSE(pool.pool->take(kMiB, 1));
  EXPECT_FALSE(pool.pool->take(64 * kKiB, 1));
  all.erase(all.begin());
  EXPECT_TRUE(pool.pool->take(kMiB, 1));
  all.clear();
  EXPECT_EQ(pool.arena->out(), 0u);
  for (int i = 0; i < 64; ++i) all.push_back(*pool.pool->take(64 * kKiB, 1));
  EXPECT_EQ(pool.arena->out(), 2u);
  EXPECT_EQ(pool.pool->used(), MiB(4));
}

TEST(ValueMemory, neighbours_are_those_in_the_same_page) {
  Pool pool(2);
  auto first = pool.pool->take(kMiB, 11), second = pool.pool->take(kMiB, 12),
       third = pool.pool->take(kMiB, 13);
  EXPECT_EQ(pool.pool->neighbours_of(*first), std::vector<std::uint64_t>{12});
  EXPECT_TRUE(pool.pool->neighbours_of(*third).empty());
  second.reset();
  EXPECT_TRUE(pool.pool->neighbours_of(*first).empty());
}

TEST(ValueMemory, values_do_not_overlap) {
  Pool pool(64);
  Random random(5);
  struct One {
    ValueMemory memory;
    char mark;
  };
  std::vector<One> all;
  auto each_byte_is = [](const ValueMemory& memory, char mark) {
    std::size_t seen = 0;
    while (seen < memory.bytes()) {
      std::span<char> piece = memory.from(seen);
      for (char c : piece) {
        if (c != mark) return false;
      }
      seen += piece.size();
    }
    return memory.from(seen).empty();
  };
  for (int step = 0; step < 300; ++step) {
    if (auto memory =
            pool.pool->take(1 + random.below(random.chance(0.2) ? 9 * kMiB : 700 * kKiB), 1)) {
      char mark = static_cast<char>(step);
      for (std::size_t at = 0; at < memory->bytes(); at += memory->from(at).size()) {
        std::memset(memory->from(at).data(), mark, memory->from(at).size());
      }
      all.push_back({std::move(*memory), mark});
    }
    if (!all.empty() && random.chance(0.5)) {
      std::size_t which = random.below(all.size());
      EXPECT_TRUE(each_byte_is(all[which].memory, all[which].mark));
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  for (const One& one : all) EXPECT_TRUE(each_byte_is(one.memory, one.mark));
  all.clear();
  EXPECT_EQ(pool.arena->out(), 0u);
}

}  // namespace
}  // namespace specgen
