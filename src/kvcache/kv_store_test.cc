#include "kvcache/kv_store.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kvcache/kv_state.h"
#include "kvcache/kv_testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using kv_testing::bytes_of;
using kv_testing::fill;
using kv_testing::get;
using kv_testing::open_store;
using kv_testing::set;

// Flips one bit, as bad memory would.
void damage(KvStore& store, std::string_view key, std::size_t offset) {
  auto reading = store.state().find(key, {});
  reading->value()->memory.from(offset)[0] ^= 1;
  store.state().end(reading);
}

TEST(KvStore, values_of_every_size_are_returned) {
  auto store = open_store(MiB(160));
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{28}, std::size_t{4096}, std::size_t{4097},
        std::size_t{65536}, std::size_t{65537}, std::size_t{1} << 20, (std::size_t{1} << 20) + 1,
        std::size_t{2} << 20, (std::size_t{2} << 20) + 5, (std::size_t{36} << 20) + 77}) {
    std::string key = "k" + std::to_string(bytes);
    set(*store, key, bytes_of(key, bytes));
    EXPECT_EQ(get(*store, key), bytes_of(key, bytes)) << bytes;
    EXPECT_TRUE(store->contains(key));
  }
  EXPECT_EQ(store->size(), 12u);
  EXPECT_EQ(store->counters().hits, 12u);
  EXPECT_EQ(get(*store, "another"), std::nullopt);
  EXPECT_EQ(store->counters().misses, 1u);
}

TEST(KvStore, the_first_writer_wins) {
  auto store = open_store(MiB(32));
  set(*store, "k", "first");
  set(*store, "k", "again");
  EXPECT_EQ(get(*store, "k"), "first");
  EXPECT_EQ(store->counters().repeated_sets, 1u);
}

TEST(KvStore, a_value_is_visible_when_complete) {
  auto store = open_store(MiB(32));
  auto writer = store->write("k", 10);
  writer->for_piece(
      10, [](std::span<char> target) { return std::memcpy(target.data(), "half.", 5), 5; });
  EXPECT_EQ(get(*store, "k"), std::nullopt);
  auto second = store->write("k", 3);  // too late: the first is writing
  second->for_piece(3,
                    [](std::span<char> target) { return std::memcpy(target.data(), "two", 3), 3; });
  second->publish();
  EXPECT_EQ(get(*store, "k"), std::nullopt);
  writer->for_piece(10, [](std::span<char> target) {
    return std::memcpy(target.data(), "whole", 5), target.size();
  });
  EXPECT_EQ(get(*store, "k"), std::nullopt);
  writer->publish();
  EXPECT_EQ(get(*store, "k"), "half.whole");
}

TEST(KvStore, an_abandoned_writer_leaves_nothing) {
  auto store = open_store(MiB(32));
  store->write("k", 10 << 20);
  EXPECT_EQ(store->used(), Bytes{0});
  set(*store, "k", "another's");
  EXPECT_EQ(get(*store, "k"), "another's");
}

TEST(KvStore, a_pair_is_dropped_together) {
  auto store = open_store(MiB(32));
  const std::string key = "m@1@0@ab12@half";
  set(*store, key + "kv_bytes", bytes_of(key, 3 << 20));
  set(*store, key + "metadata", "28 bytes");
  set(*store, "m@1@0@ab13@halfmetadata", "28 bytes");
  EXPECT_EQ(store->size(), 3u);
  EXPECT_EQ(get(*store, key + "metadata"), "28 bytes");
  EXPECT_TRUE(store->remove(key + "metadata"));
  EXPECT_EQ(get(*store, key + "kv_bytes"), std::nullopt);
  EXPECT_FALSE(store->remove(key + "kv_bytes"));
  EXPECT_FALSE(store->contains("m@1@0@ab13@halfmetadata"));  // useless without its bytes
  set(*store, "m@1@0@ab13@halfkv_bytes", "bytes");
  EXPECT_TRUE(store->contains("m@1@0@ab13@halfmetadata"));
  set(*store, "a user's own metadata", "x");
  EXPECT_EQ(get(*store, "a user's own metadata"), "x");
}

TEST(KvStore, a_new_value_evicts_the_longest_unused) {
  auto store = open_store(MiB(8 + 8));
  for (const char* key : {"a", "b", "c", "d"}) set(*store, key, bytes_of(key, 2 << 20));
  EXPECT_EQ(store->used(), MiB(8));
  EXPECT_EQ(store->ready(), MiB(0));
  EXPECT_TRUE(store->contains("a"));
  set(*store, "e", bytes_of("e", 3 << 20));  // takes two pages
  EXPECT_FALSE(store->contains("b"));
  EXPECT_FALSE(store->contains("c"));
  EXPECT_EQ(get(*store, "a"), bytes_of("a", 2 << 20));
  EXPECT_EQ(get(*store, "e"), bytes_of("e", 3 << 20));
  EXPECT_EQ(store->counters().lost[static_cast<int>(KvLoss::evicted)], 2u);
  set(*store, "too large", bytes_of("t", 9 << 20));
  EXPECT_FALSE(store->contains("too large"));
  EXPECT_EQ(store->counters().lost[static_cast<int>(KvLoss::no_memory)], 1u);
}

TEST(KvStore, a_value_being_read_is_not_evicted) {
  auto store = open_store(MiB(8 + 4));
  set(*store, "a", bytes_of("a", 4 << 20));
  auto reader = store->read("a");
  set(*store, "b", bytes_of("b", 4 << 20));
  EXPECT_FALSE(store->contains("b"));
  EXPECT_EQ(kv_testing::rest_of(*reader), bytes_of("a", 4 << 20));
  reader.reset();
  set(*store, "b", bytes_of("b", 4 << 20));
  EXPECT_TRUE(store->contains("b"));
}

TEST(KvStore, a_large_value_evicts_small_ones_by_page) {
  auto store = open_store(MiB(8 + 8));
  for (int i = 0; i < 8; ++i) set(*store, "s" + std::to_string(i), bytes_of("s", 1 << 20));
  // The oldest of each page, so that plain eviction would free single slots in many pages.
  for (int i = 1; i < 8; i += 2) EXPECT_TRUE(store->contains("s" + std::to_string(i)));
  set(*store, "large", bytes_of("large", 4 << 20));
  EXPECT_TRUE(store->contains("large"));
  EXPECT_EQ(store->size(), 5u);
}

TEST(KvStore, evicting_a_large_value_keeps_those_that_share_its_last_page) {
  constexpr std::size_t kPageAndAnEnd = (2 << 20) + 1000;
  auto store = open_store(MiB(8 + 8));
  for (const char* key : {"a", "b", "c"}) set(*store, key, bytes_of(key, kPageAndAnEnd));
  EXPECT_EQ(store->ready(), MiB(0));  // a page for each, and one for their last parts
  set(*store, "d", bytes_of("d", kPageAndAnEnd));
  EXPECT_FALSE(store->contains("a"));
  for (const char* key : {"b", "c", "d"}) {
    EXPECT_TRUE(get(*store, key) == bytes_of(key, kPageAndAnEnd)) << key;
  }
}

TEST(KvStore, chains_are_learned_from_the_order_of_requests) {
  auto store = open_store(MiB(8 + 6));
  const std::string a = "m@00000001@0@aa", b = "m@00000001@0@bb", c = "m@00000001@0@cc",
                    d = "m@00000001@0@dd";
  set(*store, a, bytes_of(a, 2 << 20));
  set(*store, b, bytes_of(b, 2 << 20), a);
  set(*store, c, bytes_of(c, 2 << 20), b);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(store->contains(c, b));  // only the last one is requested
  set(*store, d, bytes_of(d, 2 << 20));
  EXPECT_FALSE(store->contains(c));
  EXPECT_TRUE(store->contains(a));
  EXPECT_TRUE(store->contains(b));
}

TEST(KvStore, a_chain_is_learned_even_if_its_end_is_complete_first) {
  auto store = open_store(MiB(8 + 6));
  const std::string a = "m@00000001@0@aa", b = "m@00000001@0@bb", c = "m@00000001@0@cc",
                    d = "m@00000001@0@dd";
  {
    auto first = store->write(a, 2 << 20);
    set(*store, b, bytes_of(b, 2 << 20), a);
    fill(*first, bytes_of(a, 2 << 20));
    first->publish();
  }
  set(*store, c, bytes_of(c, 2 << 20));
  EXPECT_TRUE(store->contains(b) && store->contains(c));  // so that `a` is the longest unused
  set(*store, d, bytes_of(d, 2 << 20));
  EXPECT_TRUE(store->contains(a));
}

TEST(KvStore, damaged_bytes_are_a_miss_and_an_alarm) {
  auto store = open_store(MiB(32));
  set(*store, "k", bytes_of("k", 5 << 20));
  damage(*store, "k", 4'000'000);
  EXPECT_TRUE(store->contains("k"));
  EXPECT_EQ(store->read("k"), nullptr);
  EXPECT_EQ(store->counters().alarms, 1u);
  EXPECT_EQ(store->counters().lost[static_cast<int>(KvLoss::damaged)], 1u);
  EXPECT_FALSE(store->contains("k"));
  EXPECT_EQ(store->used(), Bytes{0});
}

TEST(KvStore, a_value_can_be_verified_in_pieces) {
  auto store = open_store(MiB(32));
  set(*store, "k", bytes_of("k", 5 << 20));
  using Verified = KvStore::Reader::Verified;
  auto reader = store->find("k");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(reader->verify_some(1 << 20), Verified::not_yet);
  EXPECT_EQ(store->counters().hits, 0u);
  EXPECT_EQ(reader->verify_some(1 << 20), Verified::yes);
  EXPECT_EQ(store->counters().hits, 1u);
  EXPECT_EQ(kv_testing::rest_of(*reader), bytes_of("k", 5 << 20));
}

TEST(KvStore, a_value_expires) {
  Time now{};
  auto store = open_store(MiB(32), {.now = [&] { return now; }});
  set(*store, "k", "short-lived", {}, 10s);
  set(*store, "for ever", "x");
  now += 9s;
  EXPECT_EQ(get(*store, "k"), "short-lived");
  now += 1s;
  EXPECT_EQ(get(*store, "k"), std::nullopt);
  EXPECT_EQ(store->size(), 1u);
  EXPECT_EQ(store->counters().lost[static_cast<int>(KvLoss::expired)], 1u);
  set(*store, "k", "again");
  now += 100s;
  EXPECT_EQ(get(*store, "k"), "again");
}

TEST(KvStore, values_of_a_pinned_task_are_evicted_last_until_the_pin_ends) {
  Time now{};
  auto store = open_store(MiB(8 + 4), {.now = [&] { return now; }});
  const std::string live = "m@00000001@0@aa@live", other = "m@00000001@0@bb@other";
  store->pin("live", 10s);
  set(*store, live, bytes_of(live, 2 << 20));
  set(*store, other, bytes_of(other, 2 << 20));
  set(*store, "new", bytes_of("new", 2 << 20));
  EXPECT_TRUE(store->contains(live));
  EXPECT_FALSE(store->contains(other));
  now += 10s;
  EXPECT_TRUE(store->contains("new"));
  set(*store, other, bytes_of(other, 2 << 20));
  EXPECT_FALSE(store->contains(live));
}

TEST(KvStore, a_task_has_its_quota) {
  auto store = open_store(MiB(64), {.task_quota = MiB(4)});
  const std::string key = "m@00000001@0@a";
  for (int i = 0; i < 4; ++i) set(*store, key + std::to_string(i) + "@t", bytes_of("t", 2 << 20));
  for (int i = 0; i < 4; ++i) set(*store, key + std::to_string(i), bytes_of("t", 2 << 20));
  EXPECT_FALSE(store->contains(key + "0@t"));
  EXPECT_FALSE(store->contains(key + "1@t"));
  EXPECT_TRUE(store->contains(key + "3@t"));
  EXPECT_TRUE(store->contains(key + "0"));
  set(*store, key + "9@t", bytes_of("t", 5 << 20));
  EXPECT_FALSE(store->contains(key + "9@t"));
  EXPECT_EQ(store->counters().lost[static_cast<int>(KvLoss::quota)], 3u);
}

TEST(KvStore, dropping_a_task_drops_its_values) {
  auto store = open_store(MiB(64));
  const std::string key = "m@00000001@0@a";
  for (int i = 0; i < 4; ++i) set(*store, key + std::to_string(i) + "@t", bytes_of("t", 2 << 20));
  set(*store, key + "0@u", "another's");
  auto late = store->write(key + "7@t", 3);
  EXPECT_EQ(store->drop_task("t"), 4u);
  late->for_piece(3, [](std::span<char> target) { return target.size(); });
  late->publish();
  EXPECT_EQ(store->size(), 1u);
  EXPECT_EQ(store->counters().lost[static_cast<int>(KvLoss::task_ended)], 5u);
  store->clear();
  EXPECT_EQ(store->size(), 0u);
}

TEST(KvStore, small_values_are_limited_too) {
  auto store = open_store(MiB(16));
  for (int i = 0; i < 10'000; ++i) set(*store, "k" + std::to_string(i), std::string(4096, 'x'));
  EXPECT_LT(store->size(), 4000u);
  EXPECT_TRUE(store->contains("k9999"));
}

TEST(KvStore, a_store_needs_capacity_beside_the_drain) {
  EXPECT_EQ(KvStore::open({.host = MiB(64)}).error().code, ErrorCode::bad_usage);
}

}  // namespace
}  // namespace specgen
