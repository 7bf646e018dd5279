#include "evaluate/pytorch/model_new.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evaluate/pytorch/extension_cache.h"
#include "evaluate/pytorch/shared_tensors.h"

namespace specgen {
namespace {

TEST(Speedup, is_the_median_of_ratios_with_an_interval_around_it) {
  std::vector<double> baseline{100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100};
  std::vector<double> candidate(11, 100);
  Speedup speedup = speedup_of(baseline, candidate);
  EXPECT_EQ(speedup.median, 6);
  EXPECT_EQ(speedup.low, 2);
  EXPECT_EQ(speedup.high, 10);
}

TEST(Speedup, of_nothing_is_nothing_and_of_one_call_is_that_call) {
  EXPECT_EQ(speedup_of({}, {}).median, 0);
  EXPECT_EQ(speedup_of({5}, {0}).median, 0);
  EXPECT_EQ(speedup_of({10}, {5}).low, 2);
}

TEST(Clock, disagrees_when_most_calls_took_longer_than_reported) {
  Stamps honest{.candidate_ns = 5e6, .judge_ns = 5.4e6, .round_trip_ns = 2e5};
  Stamps lie{.candidate_ns = 10, .judge_ns = 5e6, .round_trip_ns = 2e5};
  EXPECT_FALSE(clock_disagrees({}));
  EXPECT_FALSE(clock_disagrees({honest, honest, honest}));
  EXPECT_TRUE(clock_disagrees({lie, lie, lie}));
  EXPECT_TRUE(clock_disagrees({lie, lie, honest}));
}

TEST(Clock, forgives_a_disturbed_call_and_the_way_of_a_message) {
  Stamps disturbed{.candidate_ns = 1e5, .judge_ns = 9e6};
  Stamps small{.candidate_ns = 1e3, .judge_ns = 8e5};
  EXPECT_FALSE(clock_disagrees({small, disturbed, small}));
  EXPECT_FALSE(clock_disagrees({small, small}));
  Stamps busy_host{.candidate_ns = 1e4, .judge_ns = 4e6, .round_trip_ns = 3.5e6};
  EXPECT_FALSE(clock_disagrees({busy_host, busy_host}));
  Stamps hopeless{.candidate_ns = 10, .judge_ns = 1e9, .round_trip_ns = 9e8};
  EXPECT_TRUE(clock_disagrees({hopeless, hopeless}));
}

TEST(PlainFlags, exclude_flags_that_read_or_run_other_files) {
  EXPECT_TRUE(is_plain_flag("-O3"));
  EXPECT_TRUE(is_plain_flag("-march=native"));
  for (auto flag : {"-fplugin=/tmp/x.so", "-include/etc/passwd", "-I/tmp", "-o", "@file", "-O3 -I/",
                    "-DX=1", "-wrapper", "-B/tmp", "--sysroot=/", ""}) {
    EXPECT_FALSE(is_plain_flag(flag)) << flag;
  }
}

TEST(SharedTensors, lie_apart_at_multiples_of_64_and_cannot_be_cut) {
  auto shared = SharedTensors::make(std::vector<std::size_t>{100, 4, 64});
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->offset(1), 128U);
  EXPECT_EQ(shared->offset(2), 192U);
  EXPECT_EQ(shared->tensor(1).size(), 4U);
  EXPECT_NE(::ftruncate(shared->descriptor(), 10), 0);
}

TEST(SharedTensors, that_are_shorter_than_was_said_are_an_error) {
  Fd memory(::memfd_create("short", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(memory.get(), 130), 0);
  EXPECT_TRUE(read_tensors(memory, std::vector<std::size_t>{100, 2}));
  auto cut = read_tensors(memory, std::vector<std::size_t>{100, 3});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::bad_message);
}

}  // namespace
}  // namespace specgen
