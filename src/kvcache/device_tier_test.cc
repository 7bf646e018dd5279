#include <gtest/gtest.h>

#include <future>

#include "base/random.h"
#include "kvcache/device_ring.h"
#include "kvcache/kv_device_testing.h"
#include "kvcache/kv_state.h"
#include "kvcache/kv_testing.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

using kv_testing::bytes_of;
using kv_testing::get;
using kv_testing::open_store;
using kv_testing::PlainDevice;
using kv_testing::set;

constexpr std::size_t kMiB = 1 << 20;
constexpr int kDevice = 3;

TEST(DevicePool, space_is_taken_from_blocks_and_returned) {
  PlainDevice device(3);
  DevicePool pool(device, MiB(192));
  EXPECT_FALSE(pool.take(1, 1));
  ASSERT_TRUE(pool.make_block());
  auto large = pool.take(40 * kMiB, 1);
  ASSERT_TRUE(large);
  EXPECT_FALSE(pool.take(40 * kMiB, 2));
  ASSERT_TRUE(pool.make_block());
  auto spanning = pool.take(40 * kMiB, 2);
  ASSERT_TRUE(spanning);
  EXPECT_EQ(pool.used(), MiB(80));
  EXPECT_EQ(pool.free(), MiB(48));
  ASSERT_EQ(pool.blocks().size(), 2u);
  EXPECT_EQ(pool.blocks()[1].owners, std::vector<std::uint64_t>{2});
  large.reset();
  EXPECT_EQ(pool.free(), MiB(88));
  EXPECT_EQ(pool.shrink(2), 2u);
  EXPECT_EQ(pool.over_budget(), 1u);
  spanning.reset();
  pool.close(0);
  EXPECT_EQ(pool.free(), MiB(64));
  pool.drop_closed();
  EXPECT_EQ(device.made, 1u);
  EXPECT_EQ(pool.over_budget(), 0u);
  EXPECT_FALSE(pool.make_block());
  pool.grow(5);
  EXPECT_EQ(pool.budget(), MiB(192));
}

TEST(DevicePool, a_full_device_is_not_tried_again) {
  PlainDevice device(4);
  device.max_made = 1;
  DevicePool pool(device, MiB(256));
  EXPECT_TRUE(pool.make_block());
  EXPECT_FALSE(pool.make_block());
  EXPECT_EQ(pool.budget(), MiB(64));
}

TEST(DeviceRing, bytes_are_copied_in_and_out) {
  PlainDevice device(2);
  DevicePool pool(device, MiB(128));
  ASSERT_TRUE(pool.make_block() && pool.make_block());
  std::vector<DeviceSpace> small;
  for (int i = 0; i < 40; ++i) small.push_back(*pool.take(kMiB, 1));
  for (int i = 0; i < 40; i += 2)
    small[static_cast<std::size_t>(i)] = {};  // so that the next one is fragmented
  for (std::size_t bytes :
       {std::size_t{1}, 4 * kMiB, 4 * kMiB + 1, 16 * kMiB, 37 * kMiB + 12'345}) {
    auto space = pool.take(bytes, 2);
    ASSERT_TRUE(space);
    const std::string value = bytes_of("v", bytes);
    auto stored =
        copy_to_device(device, *space, bytes, [&](std::size_t offset, std::span<char> target) {
          std::memcpy(target.data(), value.data() + offset, target.size());
          return true;
        });
    EXPECT_TRUE(stored && *stored);
    std::string back;
    auto fetched = copy_from_device(device, *space, bytes,
                                    [&](std::size_t offset, std::span<const char> piece) {
                                      EXPECT_EQ(offset, back.size());
                                      back.append(piece.data(), piece.size());
                                      return true;
                                    });
    EXPECT_TRUE(fetched && *fetched);
    EXPECT_TRUE(back == value) << bytes;
  }
}

TEST(DeviceRing, either_side_can_stop_a_copy) {
  PlainDevice device(1);
  DevicePool pool(device, MiB(64));
  ASSERT_TRUE(pool.make_block());
  auto space = pool.take(20 * kMiB, 1);
  auto stored = copy_to_device(device, *space, 20 * kMiB,
                               [&](std::size_t offset, std::span<char>) { return offset == 0; });
  ASSERT_TRUE(stored);
  EXPECT_FALSE(*stored);
  device.fails = true;
  EXPECT_FALSE(copy_from_device(device, *space, 20 * kMiB, [](auto, auto) { return true; }));
}

// A store with 32 MiB on the host and a device.
struct Both {
  explicit Both(std::size_t blocks = 2) : store(open_store(MiB(8 + 32))) {
    auto plain = std::make_unique<PlainDevice>(blocks);
    device = plain.get();
    store->state().share_device(kDevice, std::move(plain), {blocks * DeviceBlocks::kBlockBytes});
  }
  static std::string key(int number) { return "k" + std::to_string(number); }
  static std::string value(int number) {
    return bytes_of(key(number), 3 * kMiB + static_cast<std::size_t>(number));
  }

  // One after another, each when the host has free memory again: no value is dropped while the device has space.
  void fill(int from, int to) {
    for (int i = from; i < to; ++i) {
      set(*store, key(i), value(i));
      settle();
    }
  }
  void settle() const {
    Spin waiting;
    while (store->used() > MiB(28)) waiting.pause();
  }
  std::uint64_t lost(KvLoss loss) const {
    return store->counters().lost[static_cast<std::size_t>(loss)];
  }

  PlainDevice* device;
  std::unique_ptr<KvStore> store;
};

TEST(DeviceTier, cold_values_move_to_the_device_and_back) {
  Both both;
  both.fill(0, 20);  // 60 MiB
  EXPECT_EQ(both.lost(KvLoss::evicted), 0u);
  EXPECT_GT(both.store->used_on(kDevice), MiB(24));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(both.store->contains(both.key(i)));
    EXPECT_TRUE(get(*both.store, both.key(i)) == both.value(i)) << i;
    both.settle();
  }
  EXPECT_EQ(both.store->counters().hits, 20u);
  EXPECT_EQ(both.store->counters().alarms, 0u);
}

TEST(DeviceTier, a_reader_waits_for_an_arriving_value) {
  Both both;
  both.fill(0, 20);
  auto reader = both.store->find(both.key(0));
  auto another = both.store->read(both.key(0));
  ASSERT_TRUE(reader && another);
  auto verified = KvStore::Reader::Verified::not_yet;
  while (verified == KvStore::Reader::Verified::not_yet) verified = reader->verify_some(1 << 20);
  EXPECT_EQ(verified, KvStore::Reader::Verified::yes);
  EXPECT_TRUE(kv_testing::rest_of(*reader) == both.value(0));
  EXPECT_TRUE(kv_testing::rest_of(*another) == both.value(0));
}

TEST(DeviceTier, metadata_stays_on_the_host_and_is_dropped_with_its_bytes) {
  Both both;
  const std::string key = "m@1@0@ab12@half";
  set(*both.store, key + "kv_bytes", bytes_of(key, 3 * kMiB));
  set(*both.store, key + "metadata", "28 bytes");
  both.fill(0, 20);
  EXPECT_EQ(get(*both.store, key + "metadata"), "28 bytes");
  both.store->quiet(kDevice, true);
  EXPECT_FALSE(both.store->contains(key + "metadata"));  // its bytes cannot be reached
  EXPECT_EQ(get(*both.store, key + "metadata"), std::nullopt);
  both.store->quiet(kDevice, false);
  EXPECT_TRUE(get(*both.store, key + "kv_bytes") == bytes_of(key, 3 * kMiB));
  both.settle();
  both.fill(20, 40);
  EXPECT_EQ(both.store->reclaim_device(kDevice, GiB(1)), MiB(128));
  EXPECT_FALSE(both.store->contains(key + "metadata"));
  EXPECT_FALSE(both.store->contains(key + "kv_bytes"));
}

TEST(DeviceTier, dropping_a_task_drops_its_values_on_the_device) {
  Both both;
  for (int i = 0; i < 20; ++i) {
    set(*both.store, "m@00000001@0@" + std::to_string(1000 + i) + "@task", both.value(i));
    both.settle();
  }
  both.store->quiet(kDevice, true);  // no copy is running
  EXPECT_GT(both.store->used_on(kDevice), MiB(0));
  const std::size_t there = both.store->size();  // all, unless the device was too slow for some
  EXPECT_GT(there, 0u);
  EXPECT_EQ(both.store->drop_task("task"), there);
  EXPECT_EQ(both.store->used_on(kDevice), MiB(0));
  EXPECT_EQ(both.store->used(), MiB(0));
}

TEST(DeviceTier, when_both_are_full_the_coldest_values_are_dropped) {
  Both both(1);
  both.fill(0, 60);
  EXPECT_GT(both.lost(KvLoss::evicted), 0u);
  EXPECT_FALSE(both.store->contains(both.key(0)));
  EXPECT_LE(both.store->used_on(kDevice), MiB(64));
  for (int i = 0; i < 60; ++i) {
    auto bytes = get(*both.store, both.key(i));
    EXPECT_TRUE(!bytes || *bytes == both.value(i)) << i;
  }
}

TEST(DeviceTier, nothing_is_copied_while_the_device_is_quiet) {
  Both both;
  both.fill(0, 20);
  both.store->quiet(kDevice, true);
  const std::size_t copies = both.device->copies;
  EXPECT_FALSE(both.store->contains(both.key(0)));
  EXPECT_EQ(both.store->read(both.key(0)), nullptr);
  EXPECT_EQ(both.store->counters().quiet_misses, 1u);
  EXPECT_EQ(both.store->reclaim_device(kDevice, MiB(64)), MiB(0));
  for (int i = 100; i < 120; ++i) set(*both.store, both.key(i), both.value(i));  // the host evicts
  EXPECT_EQ(both.device->copies, copies);
  EXPECT_GT(both.lost(KvLoss::evicted), 0u);
  both.store->quiet(kDevice, false);
  EXPECT_TRUE(get(*both.store, both.key(0)) == both.value(0));
}

TEST(DeviceTier, reclaim_takes_the_blocks_of_least_worth) {
  Both both(2);
  both.fill(0, 40);  // 120 MiB: some 92 are on the device
  ASSERT_EQ(both.device->made, 2u);
  EXPECT_EQ(both.store->reclaim_device(kDevice, MiB(1)), MiB(64));
  EXPECT_EQ(both.device->made, 1u);
  EXPECT_EQ(both.store->shared_by(kDevice), MiB(64));
  EXPECT_GT(both.lost(KvLoss::reclaimed), 0u);
  int found = 0;
  for (int i = 0; i < 40; ++i) {
    auto bytes = get(*both.store, both.key(i));
    EXPECT_TRUE(!bytes || *bytes == both.value(i)) << i;
    found += bytes ? 1 : 0;
  }
  EXPECT_GT(found, 10);
  EXPECT_EQ(both.store->reclaim_device(kDevice, MiB(500)), MiB(64));
  EXPECT_EQ(both.device->made, 0u);
  EXPECT_EQ(both.store->used_on(kDevice), MiB(0));
  both.store->restore_device(kDevice, MiB(128));
  both.fill(200, 220);
  EXPECT_GT(both.device->made, 0u);
}

TEST(DeviceTier, damage_on_the_device_is_a_miss_and_an_alarm) {
  Both both(1);
  both.fill(0, 12);
  both.store->quiet(kDevice, true);  // exclusive use
  for (std::uint64_t at = 0; at < 16 * kMiB; at += 64 << 10) both.device->byte(at) ^= 1;
  both.store->quiet(kDevice, false);
  int missed = 0;
  for (int i = 0; i < 12; ++i) {
    auto bytes = get(*both.store, both.key(i));
    EXPECT_TRUE(!bytes || *bytes == both.value(i)) << i;
    missed += bytes ? 0 : 1;
    both.settle();
  }
  EXPECT_GT(missed, 0);
  EXPECT_EQ(both.store->counters().alarms, static_cast<std::uint64_t>(missed));
}

TEST(DeviceTier, a_failed_device_is_not_used_again) {
  Both both;
  both.fill(0, 20);
  both.device->fails = true;
  EXPECT_EQ(both.store->read(both.key(0)), nullptr);
  EXPECT_FALSE(both.store->contains(both.key(1)));
  for (int i = 100; i < 130; ++i) set(*both.store, both.key(i), both.value(i));
  EXPECT_TRUE(get(*both.store, both.key(129)) == both.value(129));
}

TEST(DeviceTier, host_memory_can_be_reclaimed_while_values_move) {
  Both both;
  both.fill(0, 30);
  for (int round = 0; round < 50; ++round) {
    auto reader = both.store->find(both.key(round % 30));  // mostly still arriving
    const Bytes got = both.store->reclaim(both.store->capacity());
    EXPECT_EQ(both.store->used(), MiB(0));
    both.store->restore(got);
    if (!reader) continue;
    auto verified = KvStore::Reader::Verified::not_yet;
    while (verified == KvStore::Reader::Verified::not_yet) verified = reader->verify_some(1 << 20);
    if (verified == KvStore::Reader::Verified::yes) {
      EXPECT_TRUE(kv_testing::rest_of(*reader) == both.value(round % 30));
    }
  }
  EXPECT_EQ(both.store->counters().alarms, 0u);
}

struct DeviceCrowd {
  Both& both;
  std::vector<std::string> values = {};
  std::atomic<int> at_work = 0;
  std::atomic<std::uint64_t> read = 0, wrong = 0;
  std::promise<void> all_done = {};

  void write_one(Random& random) {
    const std::size_t number = random.below(values.size());
    set(*both.store, both.key(static_cast<int>(number)), values[number]);
  }
  void read_one(Random& random) {
    const std::size_t number = random.below(values.size());
    auto bytes = get(*both.store, both.key(static_cast<int>(number)));
    if (bytes) ++(*bytes == values[number] ? read : wrong);
  }
  void disturb(Random& random) {
    if (random.chance(0.4)) {
      both.store->quiet(kDevice, true);
      both.store->quiet(kDevice, false);
    }
    both.store->restore_device(kDevice,
                               both.store->reclaim_device(kDevice, MiB(64 * random.below(3))));
    both.store->restore(both.store->reclaim(MiB(random.below(34))));
  }
};

Task<void> work(Loop& loop, DeviceCrowd& crowd, std::uint64_t seed,
                void (DeviceCrowd::*one)(Random&), int times) {
  Random random(seed);
  for (int i = 0; i < times || crowd.read + crowd.wrong < 50;
       ++i) {  // also where misses are faster than hits
    (crowd.*one)(random);
    co_await loop.sleep(Duration(random.below(200'000)));
  }
  if (--crowd.at_work == 0) crowd.all_done.set_value();
}

TEST(DeviceTier, under_load_no_byte_is_ever_wrong) {
  Both both;
  DeviceCrowd crowd{.both = both};
  for (int i = 0; i < 30; ++i) crowd.values.push_back(both.value(i));
  both.fill(0, 30);
  std::vector<std::unique_ptr<LoopThread>> threads;
  auto start = [&](void (DeviceCrowd::*one)(Random&), int times) {
    ++crowd.at_work;
    threads.push_back(std::make_unique<LoopThread>(
        [&crowd, seed = threads.size(), one, times](Loop& loop, RealDriver&) {
          return work(loop, crowd, seed, one, times);
        }));
  };
  ++crowd.at_work;
  for (int i = 0; i < 2; ++i) start(&DeviceCrowd::write_one, 150);
  for (int i = 0; i < 2; ++i) start(&DeviceCrowd::read_one, 200);
  start(&DeviceCrowd::disturb, 100);
  if (--crowd.at_work == 0) crowd.all_done.set_value();
  crowd.all_done.get_future().wait();
  EXPECT_EQ(crowd.wrong, 0u);
  EXPECT_EQ(both.store->counters().alarms, 0u);
}

}  // namespace
}  // namespace specgen
