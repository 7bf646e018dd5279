#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/random.h"
#include "kvcache/kv_store.h"
#include "kvcache/kv_testing.h"
#include "runtime/loop_thread.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

using kv_testing::bytes_of;
using kv_testing::get;
using kv_testing::open_store;
using kv_testing::rest_of;
using kv_testing::set;

std::uint64_t lost(const KvStore& store, KvLoss loss) {
  return store.counters().lost[static_cast<std::size_t>(loss)];
}

TEST(KvReclaim, empty_pages_are_reclaimed_before_values) {
  auto store = open_store(MiB(8 + 16));
  set(*store, "k", bytes_of("k", 4 << 20));
  EXPECT_EQ(store->reclaim(MiB(12)), MiB(12));
  EXPECT_EQ(store->capacity(), MiB(4));
  EXPECT_EQ(store->ready(), MiB(0));
  EXPECT_EQ(get(*store, "k"), bytes_of("k", 4 << 20));
}

TEST(KvReclaim, values_are_reclaimed_in_eviction_order) {
  auto store = open_store(MiB(8 + 8));
  for (const char* key : {"a", "b", "c", "d"}) set(*store, key, bytes_of(key, 2 << 20));
  EXPECT_TRUE(store->contains("a"));
  EXPECT_EQ(store->reclaim({1}), MiB(2));  // at least one page
  EXPECT_FALSE(store->contains("b"));
  EXPECT_EQ(lost(*store, KvLoss::reclaimed), 1u);
  EXPECT_EQ(store->reclaim(MiB(100)), MiB(6));
  EXPECT_EQ(store->capacity(), MiB(0));
  EXPECT_EQ(store->used(), MiB(0));
  EXPECT_EQ(store->reclaim(MiB(100)), MiB(0));
  set(*store, "e", bytes_of("e", 2 << 20));
  EXPECT_FALSE(store->contains("e"));
  set(*store, "small", "kept outside");
  EXPECT_TRUE(store->contains("small"));
}

TEST(KvReclaim, restored_memory_can_be_used_again) {
  auto store = open_store(MiB(8 + 8));
  EXPECT_EQ(store->reclaim(MiB(8)), MiB(8));
  store->restore(MiB(4));
  EXPECT_EQ(store->capacity(), MiB(4));
  for (Spin waiting; store->ready() < MiB(4);) waiting.pause();
  set(*store, "k", bytes_of("k", 4 << 20));
  EXPECT_EQ(get(*store, "k"), bytes_of("k", 4 << 20));
}

TEST(KvReclaim, a_reader_continues_from_the_drain) {
  auto store = open_store(MiB(8 + 8));
  const std::string value = bytes_of("k", (7 << 20) + 5);
  set(*store, "k", value);
  auto reader = store->read("k");
  std::string seen;
  reader->for_piece(0, 1000, [&](std::span<const char> piece) {
    seen.append(piece.data(), piece.size());
    return piece.size();
  });
  ASSERT_EQ(seen.size(), 1000u);
  EXPECT_EQ(store->reclaim(MiB(8)), MiB(8));
  EXPECT_EQ(store->used(), Bytes{0});
  EXPECT_FALSE(store->contains("k"));
  seen += rest_of(*reader, seen.size()).value_or("cut off");
  EXPECT_TRUE(seen == value);
  EXPECT_EQ(store->counters().cut_off, 0u);
}

TEST(KvReclaim, a_reader_is_cut_off_if_the_drain_is_full) {
  auto store = open_store(MiB(1 + 16), {.drain = MiB(1)});
  set(*store, "k", bytes_of("k", 4 << 20));
  set(*store, "l", bytes_of("l", 4 << 20));
  auto first = store->read("k");
  first->for_piece(0, 2 << 20, [](std::span<const char> piece) { return piece.size(); });
  first->for_piece(2 << 20, 3 << 19, [](std::span<const char> piece) { return piece.size(); });
  auto second = store->read("l");
  EXPECT_EQ(store->reclaim(MiB(16)), MiB(16));
  EXPECT_EQ(store->counters().cut_off, 1u);
  EXPECT_EQ(rest_of(*first, 7 << 19), bytes_of("k", 4 << 20).substr(7 << 19));
  EXPECT_EQ(rest_of(*second), std::nullopt);
  first.reset();
  second.reset();
}

TEST(KvReclaim, the_drain_is_free_again_when_a_reader_ends) {
  auto store = open_store(MiB(1 + 8), {.drain = MiB(1)});
  for (int i = 0; i < 5; ++i) {
    for (Spin waiting; store->ready() < MiB(2);) waiting.pause();
    set(*store, "k", bytes_of("k", 1 << 20));
    auto reader = store->read("k");
    store->reclaim(store->capacity());
    EXPECT_EQ(rest_of(*reader), bytes_of("k", 1 << 20));
    reader.reset();
    store->restore(MiB(8));
  }
  EXPECT_EQ(store->counters().cut_off, 0u);
}

TEST(KvReclaim, an_unverified_value_becomes_a_miss) {
  auto store = open_store(MiB(8 + 8));
  set(*store, "k", bytes_of("k", 4 << 20));
  auto reader = store->find("k");
  EXPECT_EQ(reader->verify_some(1 << 20), KvStore::Reader::Verified::not_yet);
  store->reclaim(MiB(8));
  EXPECT_EQ(reader->verify_some(1 << 20), KvStore::Reader::Verified::no);
  EXPECT_EQ(store->counters().alarms, 0u);
}

TEST(KvReclaim, the_bytes_of_a_writer_are_discarded) {
  auto store = open_store(MiB(8 + 8));
  auto writer = store->write("k", 4 << 20);
  auto fill = [](std::span<char> target) {
    return std::memset(target.data(), 'x', target.size()), target.size();
  };
  writer->for_piece(3 << 20, fill);
  EXPECT_EQ(store->reclaim(MiB(8)), MiB(8));
  EXPECT_EQ(store->used(), Bytes{0});
  while (writer->left() > 0) writer->for_piece(1 << 20, fill);
  writer->publish();
  EXPECT_FALSE(store->contains("k"));
  EXPECT_EQ(lost(*store, KvLoss::reclaimed), 1u);
}

TEST(KvReclaim, readers_of_deleted_values_are_reclaimed_too) {
  auto store = open_store(MiB(8 + 8));
  set(*store, "k", bytes_of("k", 4 << 20));
  auto reader = store->read("k"), another = store->read("k");
  EXPECT_TRUE(store->remove("k"));
  set(*store, "k", bytes_of("k", 4 << 20));
  EXPECT_EQ(store->used(), MiB(8));
  EXPECT_EQ(store->reclaim(MiB(8)), MiB(8));
  EXPECT_EQ(store->used(), Bytes{0});
  reader.reset();
  EXPECT_EQ(rest_of(*another), bytes_of("k", 4 << 20));
}

// Random writers, readers and reclaims on threads of their own; every byte is checked.
struct Crowd {
  KvStore& store;
  std::atomic<int> at_work = 0;
  std::atomic<std::uint64_t> read = 0, wrong = 0, cut = 0;
  std::promise<void> all_done = {};

  static std::string key(std::uint64_t number) {
    return "m@00000001@0@" + std::to_string(1000 + number) + (number % 2 == 0 ? "@task" : "");
  }
  std::vector<std::string> values = {};

  void make_values() {
    for (std::uint64_t number = 0; number < 30; ++number) {
      values.push_back(bytes_of(key(number), 1 + (number * 397'001) % (3 << 20)));
      set(store, key(number), values.back());
    }
  }

  void write_one(Random& random) {
    const std::uint64_t number = random.below(values.size());
    const std::string& bytes = values[number];
    auto writer = store.write(key(number), bytes.size(), key(number - 1));
    while (writer->left() > 0) {
      writer->for_piece(1 + random.below(300'000), [&](std::span<char> target) {
        std::memcpy(target.data(), bytes.data() + bytes.size() - writer->left(), target.size());
        return target.size();
      });
      if (random.chance(0.01)) return;  // abandoned
    }
    writer->publish();
  }

  void read_one(Random& random) {
    const std::uint64_t number = random.below(values.size());
    auto reader = store.read(key(number), key(number - 1));
    if (!reader) return;
    const std::string& bytes = values[number];
    std::size_t at = 0;
    bool is_right = reader->bytes() == bytes.size();
    while (is_right && at < bytes.size()) {
      auto taken =
          reader->for_piece(at, 1 + random.below(300'000), [&](std::span<const char> piece) {
            is_right = std::memcmp(piece.data(), bytes.data() + at, piece.size()) == 0;
            return piece.size();
          });
      if (!taken) {
        ++cut;
        return;
      }
      at += *taken;
    }
    ++(is_right ? read : wrong);
  }

  void reclaim_some(Random& random) {
    const Bytes bytes = MiB(1 + random.below(32));
    const Bytes got = store.reclaim(bytes);
    if (random.chance(0.1)) store.drop_task("task");
    if (random.chance(0.1)) store.remove(key(random.below(values.size())));
    store.restore(got);
  }
};

Task<void> work(Loop& loop, Crowd& crowd, std::uint64_t seed, void (Crowd::*one)(Random&),
                int times) {
  Random random(seed);
  for (int i = 0; i < times || crowd.read + crowd.wrong < 50;
       ++i) {  // also where misses are faster than hits
    (crowd.*one)(random);
    co_await loop.sleep(Duration(random.below(200'000)));
  }
  if (--crowd.at_work == 0) crowd.all_done.set_value();
}

TEST(KvReclaim, under_load_no_byte_is_ever_wrong) {
  auto store = open_store(MiB(4 + 36), {.drain = MiB(4), .ready_per_s = GiB(64)});
  Crowd crowd{.store = *store};
  crowd.make_values();
  std::vector<std::unique_ptr<LoopThread>> threads;
  auto start = [&](void (Crowd::*one)(Random&), int times) {
    ++crowd.at_work;
    threads.push_back(std::make_unique<LoopThread>(
        [&crowd, seed = threads.size(), one, times](Loop& loop, RealDriver&) {
          return work(loop, crowd, seed, one, times);
        }));
  };
  ++crowd.at_work;  // so that none is the last while others still have to start
  for (int i = 0; i < 2; ++i) start(&Crowd::write_one, 300);
  for (int i = 0; i < 3; ++i) start(&Crowd::read_one, 400);
  start(&Crowd::reclaim_some, 300);
  if (--crowd.at_work == 0) crowd.all_done.set_value();
  crowd.all_done.get_future().wait();
  EXPECT_EQ(crowd.wrong, 0u);
  EXPECT_EQ(crowd.cut, store->counters().cut_off);
  EXPECT_EQ(store->counters().alarms, 0u);
  EXPECT_EQ(store->reclaim(MiB(100)), MiB(36));
  EXPECT_EQ(store->used(), Bytes{0});
}

}  // namespace
}  // namespace specgen
