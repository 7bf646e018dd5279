#include "kvcache/kv_store.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kvcache/kv_testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using kv_testing::bytes_of;
using kv_testing::get;
using kv_testing::open_store;
using kv_testing::set;

TEST(KvStore, what_was_set_is_read_in_every_size) {
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

TEST(KvStore, a_value_is_seen_when_it_is_whole) {
  auto store = open_store(MiB(32));
  auto writer = store->write("k", 10);
  writer->for_piece(10,
                    [](std::span<char> room) { return std::memcpy(room.data(), "half.", 5), 5; });
  EXPECT_EQ(get(*store, "k"), std::nullopt);
  auto second = store->write("k", 3);  // too late: the first is at it
  second->for_piece(3, [](std::span<char> room) { return std::memcpy(room.data(), "two", 3), 3; });
  second->publish();
  EXPECT_EQ(get(*store, "k"), std::nullopt);
  writer->for_piece(
      10, [](std::span<char> room) { return std::memcpy(room.data(), "whole", 5), room.size(); });
  EXPECT_EQ(get(*store, "k"), std::nullopt);
  writer->publish();
  EXPECT_EQ(get(*store, "k"), "half.whole");
}

TEST(KvStore, a_writer_that_gives_up_leaves_nothing) {
  auto store = open_store(MiB(32));
  store->write("k", 10 << 20);
  EXPECT_EQ(store->used(), Bytes{0});
  set(*store, "k", "another's");
  EXPECT_EQ(get(*store, "k"), "another's");
}

}  // namespace
}  // namespace specgen
