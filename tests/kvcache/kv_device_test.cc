// The device tier of the KV cache on a GPU. Run by scripts/gpu, not by `make test`. Prints the copy rates and the time
// to give memory back.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "evaluate/cuda/driver_api.h"
#include "kvcache/cuda_blocks.h"
#include "kvcache/device_ring.h"
#include "kvcache/kv_state.h"
#include "kvcache/kv_testing.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

using kv_testing::bytes_of;

constexpr int kDevice = 0;
constexpr std::size_t kMiB = std::size_t{1} << 20;

class KvDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/dev/nvidiactl")) {
      GTEST_SKIP() << "there is no NVIDIA GPU on this machine: NOTHING WAS TESTED";
    }
  }
};

double seconds_since(std::int64_t start_ns) {
  return static_cast<double>(stopwatch_ns() - start_ns) / 1e9;
}

std::size_t free_device_memory() {
  std::size_t free = 0, total = 0;
  auto driver = CudaDriver::load();
  EXPECT_TRUE(driver);
  EXPECT_EQ((*driver)->mem_get_info(&free, &total), kCudaOk);
  return free;
}

TEST_F(KvDevice, bytes_are_copied_in_and_out_through_the_ring) {
  auto device = open_cuda_blocks(kDevice, MiB(256));
  ASSERT_TRUE(device) << device.error().text();
  DevicePool pool(**device, MiB(256));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool.make_block());
  std::vector<DeviceSpace> holes;
  for (int i = 0; i < 64; ++i) holes.push_back(*pool.take(kMiB, 1));
  for (std::size_t i = 0; i < holes.size(); i += 2) holes[i] = {};  // values are fragmented
  for (std::size_t bytes : {std::size_t{1}, 4 * kMiB, 36 * kMiB, 127 * kMiB + 4321}) {
    auto space = pool.take(bytes, 2);
    ASSERT_TRUE(space) << bytes;
    const std::string value = bytes_of("value", bytes);
    auto stored =
        copy_to_device(**device, *space, bytes, [&](std::size_t offset, std::span<char> target) {
          std::memcpy(target.data(), value.data() + offset, target.size());
          return true;
        });
    ASSERT_TRUE(stored) << stored.error().text();
    std::string back(bytes, '\0');
    auto fetched = copy_from_device(**device, *space, bytes,
                                    [&](std::size_t offset, std::span<const char> piece) {
                                      std::memcpy(back.data() + offset, piece.data(), piece.size());
                                      return true;
                                    });
    ASSERT_TRUE(fetched) << fetched.error().text();
    EXPECT_TRUE(back == value) << bytes;
  }
}

// Between the ring and the device only, without filling the buffers.
TEST_F(KvDevice, the_ring_is_as_fast_as_the_link) {
  auto device = open_cuda_blocks(kDevice, MiB(256));
  ASSERT_TRUE(device) << device.error().text();
  DevicePool pool(**device, MiB(256));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool.make_block());
  auto space = pool.take(120 * kMiB, 1);
  ASSERT_TRUE(space);
  constexpr int kRounds = 40;
  auto rate = [&](auto copy) {
    double best = 0;
    for (int trial = 0; trial < 5; ++trial) {
      const std::int64_t start = stopwatch_ns();
      for (int i = 0; i < kRounds; ++i) copy();
      best = std::max(best, kRounds * 120.0 * kMiB / seconds_since(start) / 1e9);
    }
    return best;
  };
  const double in = rate([&] {
    auto done = copy_to_device(**device, *space, 120 * kMiB, [](auto, auto) { return true; });
    ASSERT_TRUE(done && *done);
  });
  const double out = rate([&] {
    auto done = copy_from_device(**device, *space, 120 * kMiB, [](auto, auto) { return true; });
    ASSERT_TRUE(done && *done);
  });
  fmt::print("kv device tier: ring to device {:.1f} GB/s, device to ring {:.1f} GB/s\n", in, out);
  EXPECT_GT(in, 5);
  EXPECT_GT(out, 5);
}

TEST_F(KvDevice, the_store_moves_values_there_and_back) {
  auto store = kv_testing::open_store(MiB(8 + 256));
  auto shared = store->share_device(kDevice, GiB(1));
  ASSERT_TRUE(shared) << shared.error().text();
  auto key = [](int number) { return "k" + std::to_string(number); };
  auto value = [&](int number) { return bytes_of(key(number), 30 * kMiB + 1000u * number); };
  for (int i = 0; i < 24; ++i) {
    kv_testing::set(*store, key(i), value(i));
    for (Spin waiting; store->used() > MiB(224);) waiting.pause();
  }
  EXPECT_GT(store->used_on(kDevice), MiB(400));
  // From the device through the ring into pages, including the check.
  std::size_t fetched = 0;
  double fetched_in = 0;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t start = stopwatch_ns();
    auto reader = store->read(key(i));
    fetched_in += seconds_since(start);
    ASSERT_TRUE(reader) << i;
    fetched += reader->bytes();
    reader.reset();
    for (Spin waiting; store->used() > MiB(224);) waiting.pause();
  }
  fmt::print("kv device tier: values of 30 MiB come back, and are checked, at {:.1f} GB/s\n",
             static_cast<double>(fetched) / fetched_in / 1e9);
  for (int i = 0; i < 24; ++i) {
    for (Spin waiting; store->used() > MiB(224);) waiting.pause();
    EXPECT_TRUE(kv_testing::get(*store, key(i)) == value(i)) << i;
    for (Spin waiting; store->used() > MiB(224);) waiting.pause();
  }
  store->quiet(kDevice, true);
  int quiet_misses = 0;
  for (int i = 0; i < 24; ++i) quiet_misses += store->read(key(i)) ? 0 : 1;
  EXPECT_GT(quiet_misses, 10);
  store->quiet(kDevice, false);
  const std::size_t before = free_device_memory();
  EXPECT_EQ(store->reclaim_device(kDevice, GiB(1)), GiB(1));
  EXPECT_GE(free_device_memory(), before + 400 * kMiB);
  EXPECT_EQ(store->counters().alarms, 0u);
}

TEST_F(KvDevice, memory_is_given_back_quickly) {
  auto device = open_cuda_blocks(kDevice, GiB(32));
  ASSERT_TRUE(device) << device.error().text();
  std::size_t blocks = 0;
  const std::int64_t made_from = stopwatch_ns();
  {
    DevicePool pool(**device, GiB(32));
    while (pool.make_block()) ++blocks;
    const double made_in = seconds_since(made_from);
    const std::size_t before = free_device_memory();
    for (const DevicePool::Block& block : pool.blocks()) pool.close(block.number);
    const std::int64_t start = stopwatch_ns();
    pool.drop_closed();
    const double dropped_in = seconds_since(start);
    fmt::print("kv device tier: {} blocks of 64 MiB made in {:.1f} ms, given back in {:.1f} ms\n",
               blocks, made_in * 1e3, dropped_in * 1e3);
    EXPECT_GE(free_device_memory(), before + (blocks - 1) * DeviceBlocks::kBlockBytes);
  }
  EXPECT_GT(blocks, 0u);
}

TEST_F(KvDevice, a_full_device_is_given_back_quickly) {
  constexpr std::size_t kValueBytes = 60 * kMiB;
  auto store = kv_testing::open_store(GiB(1));
  auto shared = store->share_device(kDevice, GiB(32));
  ASSERT_TRUE(shared) << shared.error().text();
  const std::string value = bytes_of("value", kValueBytes);
  const std::size_t enough = std::min<std::size_t>(GiB(31).count, free_device_memory() / 2);
  const std::int64_t filled_from = stopwatch_ns();
  for (int i = 0; store->used_on(kDevice).count < enough; ++i) {
    kv_testing::set(*store, "k" + std::to_string(i), value);
    for (Spin waiting; store->used() > MiB(880);) waiting.pause();
  }
  const double filled_in = seconds_since(filled_from);
  const Bytes used = store->used_on(kDevice);
  const std::int64_t start = stopwatch_ns();
  const Bytes got = store->reclaim_device(kDevice, GiB(32));
  fmt::print(
      "kv device tier: {} of values written in {:.2f} s ({:.1f} GB/s), given back in {:.1f} ms\n",
      format_bytes(used), filled_in, static_cast<double>(used.count) / filled_in / 1e9,
      seconds_since(start) * 1e3);
  EXPECT_EQ(got, GiB(32));
  EXPECT_EQ(store->used_on(kDevice), MiB(0));
}

}  // namespace
}  // namespace specgen
