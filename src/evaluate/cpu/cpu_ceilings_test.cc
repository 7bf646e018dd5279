#include "evaluate/cpu/cpu_ceilings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "evaluate/cpu/ceiling_loops.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

// Wide enough for any machine: only a wrong unit or loop is outside.
void expect_physical(const Ceilings& ceilings) {
  EXPECT_GT(ceilings.memory_bytes_per_second, 1e7);
  EXPECT_LT(ceilings.memory_bytes_per_second, 1e14);
  EXPECT_GT(ceilings.cache_bytes_per_second, 1e8);
  EXPECT_LT(ceilings.cache_bytes_per_second, 1e15);
  EXPECT_GT(ceilings.near_cache_bytes_per_second, 1e8);
  EXPECT_GT(ceilings.near_cache_bytes, 0);
  EXPECT_GE(ceilings.cache_bytes, 64 << 10);
  EXPECT_EQ(ceilings.launch_seconds, 0);
  ASSERT_EQ(ceilings.flops_per_second.size(), 4u);
  double f32 = ceilings.flops_per_second.at("f32");
  EXPECT_GT(f32, 1e8);
  EXPECT_LT(f32, 1e15);
  EXPECT_GT(ceilings.flops_per_second.at("f64"), 1e7);
  EXPECT_EQ(ceilings.flops_per_second.at("f16"), 2 * f32);
  EXPECT_EQ(ceilings.flops_per_second.at("bf16"), 2 * f32);
}

TEST(CpuCeilings, are_plausible_and_restore_the_callers_affinity) {
  std::vector<int> before = allowed_cores();
  expect_physical(measure_cpu_ceilings({before.back()}));
  EXPECT_EQ(allowed_cores(), before);
}

TEST(CpuCeilings, use_all_allowed_cores_by_default) {
  std::vector<int> before = allowed_cores();
  ASSERT_TRUE(pin_to_cores({before.front()}));
  expect_physical(measure_cpu_ceilings({}));
  EXPECT_EQ(allowed_cores(), std::vector<int>{before.front()});
  ASSERT_TRUE(pin_to_cores(before));
}

TEST(CpuCeilings, count_shared_caches_once) {
  std::vector<int> cores = allowed_cores();
  CacheSizes one = cache_sizes({cores.front()});
  CacheSizes twice = cache_sizes({cores.front(), cores.front()});
  EXPECT_EQ(one.first_level, twice.first_level);
  EXPECT_EQ(one.last_level, twice.last_level);
  if (one.first_level > 0 && one.last_level > 0) {
    EXPECT_LE(one.first_level, one.last_level);
  }
}

TEST(CpuCeilings, ignore_a_missing_core) {
  CacheSizes sizes = cache_sizes({1'000'000});
  EXPECT_LE(sizes.first_level, std::size_t{1} << 30);
}

// The loops move exactly the bytes that they count.
class CeilingLoops : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 3 * kStepBytes;
  struct alignas(64) Buffer {
    std::array<char, kBytes> bytes;
    std::array<char, 64> guard;
  };
  static Buffer filled(char value) {
    Buffer buffer;
    buffer.bytes.fill(value);
    buffer.guard.fill(value);
    return buffer;
  }
};

TEST_F(CeilingLoops, memory_loops_write_complete_streams) {
  int loops = 0;
  for (const MemoryLoopKind* loop = memory_loops(); loop->run; ++loop, ++loops) {
    // 0x41414141 is 12.08 as a float, 0x00000000 is nothing: their sum is again the first.
    Buffer to = filled(7);
    Buffer from = filled(0x41);
    Buffer more = filled(0);
    loop->run({to.bytes.data(), from.bytes.data(), more.bytes.data(), kBytes}, 3);
    auto wrote = [&](char value) { return std::ranges::count(to.bytes, value); };
    bool reads_only = wrote(7) == kBytes;
    bool writes_only = wrote(0) == kBytes;
    bool copies = wrote(0x41) == kBytes;
    EXPECT_EQ(reads_only + writes_only + copies, 1) << loops;
    EXPECT_EQ(copies, loop->streams > 1) << loops;
    EXPECT_EQ(std::ranges::count(to.guard, 7), 64) << loops;
    EXPECT_EQ(std::ranges::count(from.bytes, 0x41), kBytes) << loops;
  }
  EXPECT_EQ(loops, 6);
}

TEST_F(CeilingLoops, there_is_a_loop_for_both_precisions) {
  int of_f32 = 0;
  int of_f64 = 0;
  for (const FlopLoopKind* loop = flop_loops(); loop->run; ++loop) {
    loop->run(1);
    ++(loop->f64 ? of_f64 : of_f32);
    EXPECT_EQ(std::fmod(loop->flops_per_turn, 12), 0);
  }
  EXPECT_GE(of_f32, 1);
  EXPECT_EQ(of_f32, of_f64);
}

}  // namespace
}  // namespace specgen
