#include "kvcache/eviction_order.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Id = EvictionOrder::Id;

constexpr std::uint64_t kMiB = 1 << 20;

// All values in eviction order.
std::vector<Id> evict_all(EvictionOrder& order) {
  std::vector<Id> gone;
  while (auto id = order.first()) {
    gone.push_back(*id);
    order.evict(*id);
  }
  return gone;
}

EvictionOrder with_values(std::initializer_list<Id> ids, std::string_view task = "") {
  EvictionOrder order({});
  for (Id id : ids) order.add(id, kMiB, task);
  return order;
}

TEST(EvictionOrder, without_chains_the_longest_unused_value_is_evicted_first) {
  EvictionOrder order = with_values({1, 2, 3});
  order.use(1);
  order.use(1);
  order.use(2);
  EXPECT_EQ(evict_all(order), (std::vector<Id>{3, 1, 2}));
}

TEST(EvictionOrder, a_suffix_is_evicted_before_its_prefix) {
  EvictionOrder order = with_values({1, 2, 3});
  order.follow(2, 1);
  order.follow(3, 2);
  for (int i = 0; i < 10; ++i) order.use(3);  // only the last one is used
  EXPECT_EQ(evict_all(order), (std::vector<Id>{3, 2, 1}));
}

TEST(EvictionOrder, a_prefix_that_forks_share_outlives_the_forks) {
  EvictionOrder order = with_values({1, 2, 3, 4});
  for (Id fork : {2, 3, 4}) order.follow(fork, 1);
  for (Id fork : {3, 4, 2}) order.use(fork);
  EXPECT_EQ(evict_all(order), (std::vector<Id>{3, 4, 2, 1}));
}

TEST(EvictionOrder, of_two_chains_the_less_used_is_evicted_first) {
  EvictionOrder order = with_values({1, 2, 3, 4});
  order.follow(2, 1);
  order.follow(4, 3);
  for (int i = 0; i < 5; ++i) order.use(2);
  order.use(4);
  EXPECT_EQ(evict_all(order), (std::vector<Id>{4, 3, 2, 1}));
}

TEST(EvictionOrder, deeper_values_cost_more_to_recompute) {
  RecomputeCost cost{.prefill_tokens_per_s = 30'000, .bytes_per_token = 131'072};
  EXPECT_NEAR(32 * cost.seconds_per_mib(32 * kMiB, 0), 256.0 / 30'000, 1e-9);
  EXPECT_NEAR(32 * cost.seconds_per_mib(32 * kMiB, 128), 2 * 256.0 / 30'000, 1e-9);
}

TEST(EvictionOrder, a_value_that_was_hot_ages) {
  EvictionOrder order({});
  order.add(1, kMiB, "");
  order.add(2, kMiB, "");
  order.follow(2, 1);
  for (int i = 0; i < 5; ++i) order.use(2);
  bool is_gone = false;
  for (Id id = 3; id < 200 && !is_gone; ++id) {  // values that are requested once
    order.add(id, kMiB, "");
    Id first = *order.first();
    is_gone = first == 2;
    order.evict(first);
  }
  EXPECT_TRUE(is_gone);
}

TEST(EvictionOrder, the_majority_decides_on_a_parent) {
  EvictionOrder order = with_values({1, 2, 3});
  for (int i = 0; i < 3; ++i) order.follow(3, 1);
  order.follow(3, 2);  // a wrong suggestion
  order.evict(3);
  EXPECT_EQ(order.first(), 1u);  // older than 2, and without children again
  EvictionOrder other = with_values({1, 2, 3});
  other.follow(3, 1);
  other.follow(3, 2);
  other.follow(3, 2);
  EXPECT_EQ(other.first(), 1u);
  EXPECT_FALSE(other.is_offered(2));
}

TEST(EvictionOrder, a_chain_never_has_a_cycle) {
  EvictionOrder order = with_values({1, 2, 3});
  for (Id id : {1, 2, 3}) {
    for (Id other : {1, 2, 3}) order.follow(id, other);
  }
  EXPECT_EQ(evict_all(order).size(), 3u);
}

TEST(EvictionOrder, values_of_a_pinned_task_are_evicted_last) {
  EvictionOrder order({});
  order.add(1, kMiB, "live");
  order.add(2, kMiB, "other");
  order.add(3, kMiB, "");
  order.pin("live", Time(10s));
  order.add(4, kMiB, "live");
  EXPECT_EQ(order.first(), 2u);
  order.expire_pins(Time(9s));
  EXPECT_EQ(order.first(), 2u);
  order.expire_pins(Time(10s));
  EXPECT_EQ(evict_all(order), (std::vector<Id>{1, 2, 3, 4}));
}

TEST(EvictionOrder, a_pin_can_be_extended_and_removed) {
  EvictionOrder order({});
  order.add(1, kMiB, "live");
  order.add(2, kMiB, "");
  order.pin("live", Time(10s));
  order.pin("live", Time(20s));
  order.expire_pins(Time(15s));
  EXPECT_EQ(order.first(), 2u);
  order.unpin("live");
  EXPECT_EQ(order.first(), 1u);
  order.pin("idle", Time(30s));
  EXPECT_EQ(order.tasks(), 3u);
  order.expire_pins(Time(30s));
  EXPECT_EQ(order.tasks(), 2u);
}

TEST(EvictionOrder, a_task_over_its_quota_evicts_its_own_values) {
  EvictionOrder order({});
  order.add(1, kMiB, "a");
  order.add(2, kMiB, "b");
  order.add(3, kMiB, "b");
  EXPECT_EQ(order.bytes_of("b"), 2 * kMiB);
  EXPECT_EQ(order.first_of("b"), 2u);
  order.remove(2);
  EXPECT_EQ(order.bytes_of("b"), kMiB);
  EXPECT_EQ(order.all_of("b"), std::vector<Id>{3});
  EXPECT_EQ(order.first_of("c"), std::nullopt);
}

TEST(EvictionOrder, a_held_value_is_not_offered) {
  EvictionOrder order = with_values({1, 2});
  order.hold(1);
  order.hold(1);
  EXPECT_EQ(order.first(), 2u);
  order.release(1);
  EXPECT_EQ(order.first(), 2u);
  order.release(1);
  EXPECT_EQ(order.first(), 1u);
}

TEST(EvictionOrder, a_child_on_a_device_does_not_protect_its_parent_on_the_host) {
  EvictionOrder order = with_values({1, 2});
  order.follow(2, 1);
  order.move(2, 1);
  EXPECT_EQ(order.first(), 1u);
  EXPECT_EQ(order.first(1), 2u);
  order.move(1, 1);
  EXPECT_EQ(order.first(1), 2u);  // now both are there: the suffix first
  order.evict(2);
  EXPECT_EQ(order.first(1), 1u);
}

TEST(EvictionOrder, invariants_hold_for_random_operations) {
  Random random(7);
  EvictionOrder order({});
  std::vector<Id> ids;
  Id last = 0;
  for (int step = 0; step < 20'000; ++step) {
    Id some = ids.empty() ? 0 : ids[random.below(ids.size())];
    Id another = ids.empty() ? 0 : ids[random.below(ids.size())];
    switch (random.below(8)) {
      case 0:
      case 1:
        ids.push_back(++last);
        order.add(last, 1 + random.below(64 * kMiB), random.chance(0.5) ? "a" : "");
        break;
      case 2:
        if (some) order.use(some);
        break;
      case 3:
      case 4:
        if (some) order.follow(some, another);
        break;
      case 5:
        if (some) order.move(some, static_cast<EvictionOrder::Place>(random.below(3)));
        break;
      case 6:
        if (auto first = order.first(static_cast<EvictionOrder::Place>(random.below(3)))) {
          order.evict(*first);
          std::erase(ids, *first);
        }
        break;
      case 7:
        if (some && random.chance(0.3)) {
          order.remove(some);
          std::erase(ids, some);
        }
        break;
    }
    ASSERT_EQ(order.size(), ids.size());
  }
  for (std::size_t before = 0; before != order.size();) {
    before = order.size();
    for (EvictionOrder::Place place : {0, 1, 2}) {
      while (auto first = order.first(place)) order.evict(*first);
    }
  }
  EXPECT_EQ(order.size(), 0u);  // every value could be evicted
}

}  // namespace
}  // namespace specgen
