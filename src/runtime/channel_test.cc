// Channel of sync.h: order, limits, closing, and that cancellation neither loses nor duplicates items.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Task<void> receive_all(Channel<int>& channel, std::vector<int>& into) {
  while (auto item = co_await channel.receive()) into.push_back(*item);
}

Task<void> receive_one(Channel<int>& channel, Log& log, std::string name) {
  auto item = co_await channel.receive();
  log.push_back(name + " got " + (item ? std::to_string(*item) : "nothing"));
}

Task<void> send_and_note(Channel<int>& channel, int item, Log& log) {
  bool sent = co_await channel.send(item);
  log.push_back((sent ? "sent " : "not sent ") + std::to_string(item));
}

TEST(Channel, delivers_in_order_and_ends_after_close) {
  VirtualRuntime runtime;
  Channel<int> channel(runtime.loop, 4);
  auto producer = [](Channel<int>& its_channel) -> Task<void> {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(co_await its_channel.send(i));
    its_channel.close();
  };
  std::vector<int> received;
  TaskGroup group(runtime.loop);
  group.spawn(receive_all(channel, received));
  group.spawn(producer(channel));
  runtime.loop.run(group.join()).value();
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(received, expected);
}

TEST(Channel, holds_no_more_than_its_capacity_and_makes_senders_wait) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 2);
  TaskGroup group(runtime.loop);
  for (int i = 1; i <= 4; ++i) group.spawn(send_and_note(channel, i, log));
  runtime.loop.run(pass(runtime.loop, 5));
  EXPECT_EQ(log, (Log{"sent 1", "sent 2"}));
  EXPECT_EQ(channel.size(), 2u);
  EXPECT_FALSE(channel.try_send(9));
  EXPECT_EQ(channel.try_receive(), 1);
  EXPECT_FALSE(channel.try_send(9)) << "the slot is taken";
  runtime.loop.run(pass(runtime.loop, 5));
  EXPECT_EQ(log, (Log{"sent 1", "sent 2", "sent 3"}));
  EXPECT_EQ(channel.size(), 2u);
}

TEST(Channel, items_may_be_move_only) {
  VirtualRuntime runtime;
  Channel<std::unique_ptr<int>> channel(runtime.loop, 1);
  EXPECT_TRUE(channel.try_send(std::make_unique<int>(3)));
  auto receive = [](Channel<std::unique_ptr<int>>& its_channel) -> Task<int> {
    auto item = co_await its_channel.receive();
    EXPECT_TRUE(co_await its_channel.send(std::make_unique<int>(4)));
    co_return **item;
  };
  EXPECT_EQ(runtime.loop.run(receive(channel)), 3);
  EXPECT_EQ(**channel.try_receive(), 4);
}

TEST(Channel, a_new_receiver_cannot_pass_one_that_was_woken) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 2);
  TaskGroup group(runtime.loop);
  group.spawn(receive_one(channel, log, "patient"));
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_TRUE(channel.try_send(1));
  EXPECT_EQ(channel.size(), 1u);
  EXPECT_EQ(channel.try_receive(), std::nullopt) << "the item is taken";
  auto pushy = [](Loop& loop, Channel<int>& its_channel, Log& its_log) -> Task<void> {
    co_await receive_one(its_channel, its_log, "pushy");
    co_await loop.yield();
  };
  TaskGroup others(runtime.loop);
  others.spawn(pushy(runtime.loop, channel, log));
  runtime.loop.run(pass(runtime.loop, 3));
  EXPECT_TRUE(channel.try_send(2));
  runtime.loop.run(others.join()).value();
  EXPECT_EQ(log, (Log{"patient got 1", "pushy got 2"}));
}

TEST(Channel, a_new_sender_cannot_pass_one_that_was_woken) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  EXPECT_TRUE(channel.try_send(1));
  TaskGroup group(runtime.loop);
  group.spawn(send_and_note(channel, 2, log));
  runtime.loop.run(pass(runtime.loop, 2));
  auto receive_and_send = [](Channel<int>& its_channel, Log& its_log) -> Task<void> {
    EXPECT_EQ(co_await its_channel.receive(), 1);
    co_await send_and_note(its_channel, 3, its_log);
  };
  group.spawn(receive_and_send(channel, log));
  runtime.loop.run(pass(runtime.loop, 4));
  EXPECT_EQ(channel.try_receive(), 2);
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"sent 2", "sent 3"}));
  EXPECT_EQ(channel.try_receive(), 3);
}

TEST(Channel, closed_with_items_delivers_them_and_accepts_no_more) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 3);
  EXPECT_TRUE(channel.try_send(1));
  EXPECT_TRUE(channel.try_send(2));
  channel.close();
  channel.close();
  EXPECT_TRUE(channel.closed());
  EXPECT_FALSE(channel.try_send(3));
  runtime.loop.run(send_and_note(channel, 3, log));
  for (int i = 0; i < 3; ++i) runtime.loop.run(receive_one(channel, log, "receiver"));
  EXPECT_EQ(log, (Log{"not sent 3", "receiver got 1", "receiver got 2", "receiver got nothing"}));
}

TEST(Channel, close_wakes_blocked_receivers_with_nothing) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  TaskGroup group(runtime.loop);
  group.spawn(receive_one(channel, log, "a"));
  group.spawn(receive_one(channel, log, "b"));
  runtime.loop.run(pass(runtime.loop, 2));
  channel.close();
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"a got nothing", "b got nothing"}));
}

TEST(Channel, close_fails_blocked_senders_and_keeps_sent_items) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  TaskGroup group(runtime.loop);
  for (int i = 1; i <= 3; ++i) group.spawn(send_and_note(channel, i, log));
  runtime.loop.run(pass(runtime.loop, 2));
  channel.close();
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"sent 1", "not sent 2", "not sent 3"}));
  EXPECT_EQ(channel.try_receive(), 1);
  EXPECT_EQ(channel.try_receive(), std::nullopt);
}

TEST(Channel, a_sender_with_a_slot_fails_when_the_channel_is_closed) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  EXPECT_TRUE(channel.try_send(1));
  TaskGroup group(runtime.loop);
  group.spawn(send_and_note(channel, 2, log));
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_EQ(channel.try_receive(), 1);
  channel.close();
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, Log{"not sent 2"});
  EXPECT_EQ(channel.size(), 0u);
}

TEST(Channel, a_receiver_cancelled_after_its_wake_up_leaves_the_item_to_the_next) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  TaskGroup first(runtime.loop);
  TaskGroup second(runtime.loop);
  first.spawn(receive_one(channel, log, "a"));
  runtime.loop.run(pass(runtime.loop, 2));
  second.spawn(receive_one(channel, log, "b"));
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_TRUE(channel.try_send(7));
  first.cancel();
  runtime.loop.run(second.join()).value();
  EXPECT_EQ(log, Log{"b got 7"});
}

TEST(Channel, an_item_left_by_a_cancelled_receiver_is_not_lost_when_the_channel_was_closed) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  TaskGroup first(runtime.loop);
  TaskGroup second(runtime.loop);
  first.spawn(receive_one(channel, log, "a"));
  runtime.loop.run(pass(runtime.loop, 2));
  second.spawn(receive_one(channel, log, "b"));
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_TRUE(channel.try_send(7));  // for a
  channel.close();                   // b is woken with nothing
  first.cancel();                    // but now there is an item
  runtime.loop.run(second.join()).value();
  EXPECT_EQ(log, Log{"b got 7"});
}

TEST(Channel, a_sender_cancelled_after_its_wake_up_leaves_the_slot_to_the_next) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  EXPECT_TRUE(channel.try_send(1));
  TaskGroup first(runtime.loop);
  TaskGroup second(runtime.loop);
  first.spawn(send_and_note(channel, 2, log));
  runtime.loop.run(pass(runtime.loop, 2));
  second.spawn(send_and_note(channel, 3, log));
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_EQ(channel.try_receive(), 1);
  first.cancel();
  runtime.loop.run(second.join()).value();
  EXPECT_EQ(log, Log{"sent 3"});
  EXPECT_EQ(channel.try_receive(), 3);
  EXPECT_TRUE(channel.try_send(4)) << "a slot was lost";
}

TEST(Channel, a_sender_cancelled_while_it_waits_keeps_its_item) {
  VirtualRuntime runtime;
  Log log;
  Channel<LogOnDestroy> channel(runtime.loop, 1);
  EXPECT_TRUE(channel.try_send(LogOnDestroy(log, "first item")));
  auto send = [](Channel<LogOnDestroy>& its_channel, LogOnDestroy item) -> Task<void> {
    EXPECT_TRUE(co_await its_channel.send(std::move(item)));
  };
  {
    TaskGroup group(runtime.loop);
    group.spawn(send(channel, LogOnDestroy(log, "unsent item")));
    runtime.loop.run(pass(runtime.loop, 2));
    EXPECT_EQ(log, Log{});
  }
  EXPECT_EQ(log, Log{"unsent item"});
  EXPECT_EQ(channel.size(), 1u);
}

// Many producers and consumers that time out at random, and consumers that are cancelled and
// replaced. The time steps are few and small, so that most events happen at the same instant.
class Market {
 public:
  Market(Loop& loop, std::size_t capacity)
      : loop_(loop), channel_(loop, capacity), consumers_(loop) {}

  Task<void> run(int producers, int consumers) {
    TaskGroup senders(loop_);
    for (int i = 0; i < producers; ++i) senders.spawn(produce(i));
    consumers_.spawn(replace_consumers(consumers));
    (void)co_await senders.join();
    channel_.close();
    (void)co_await consumers_.join();
    // Cancelled consumers may have left items.
    while (auto item = co_await channel_.receive()) received.push_back(*item);
  }

  std::vector<std::pair<int, int>> received;  // producer, number
  int gave_up = 0;

 private:
  static constexpr int kItems = 30;
  Duration a_while() { return Duration(loop_.random().below(4)); }

  Task<void> produce(int name) {
    for (int item = 0; item < kItems;) {
      auto event = co_await race(channel_.send({name, item}), loop_.sleep(a_while()));
      if (event.first()) {
        EXPECT_TRUE(*event.first());
        ++item;
      } else {
        ++gave_up;
      }
      if (loop_.random().below(4) == 0) co_await loop_.sleep(a_while());
    }
  }

  Task<void> consume() {
    while (true) {
      // The timer is sometimes the first branch and sometimes the second.
      if (loop_.random().below(2) == 0) {
        auto event = co_await race(channel_.receive(), loop_.sleep(a_while()));
        if (event.first() && !take(*event.first())) co_return;
      } else {
        auto event = co_await race(loop_.sleep(a_while()), channel_.receive());
        if (event.second() && !take(*event.second())) co_return;
      }
    }
  }
  bool take(const std::optional<std::pair<int, int>>& item) {
    if (item) received.push_back(*item);
    return item.has_value();
  }

  Task<void> replace_consumers(int count) {
    std::vector<std::unique_ptr<TaskGroup>> mortals(static_cast<std::size_t>(count));
    while (!channel_.closed()) {
      auto& mortal = mortals[loop_.random().below(mortals.size())];
      mortal = std::make_unique<TaskGroup>(loop_);
      mortal->spawn(consume());
      co_await loop_.sleep(a_while());
    }
  }

  Loop& loop_;
  Channel<std::pair<int, int>> channel_;
  TaskGroup consumers_;
};

TEST(Channel, under_random_cancellation_no_item_is_lost_duplicated_or_reordered) {
  int gave_up = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    VirtualRuntime runtime(seed);
    int producers = 1 + static_cast<int>(seed % 5);
    Market market(runtime.loop, 1 + seed % 3);
    runtime.loop.run(market.run(producers, 1 + static_cast<int>(seed % 4)));
    std::map<int, std::vector<int>> by_producer;
    for (auto [producer, item] : market.received) by_producer[producer].push_back(item);
    ASSERT_EQ(by_producer.size(), static_cast<std::size_t>(producers)) << "seed " << seed;
    for (const auto& [producer, items] : by_producer) {
      std::vector<int> expected(30);
      std::iota(expected.begin(), expected.end(), 0);
      ASSERT_EQ(items, expected) << "seed " << seed << ", producer " << producer;
    }
    gave_up += market.gave_up;
  }
  EXPECT_GT(gave_up, 1000) << "too few cancellations to test anything";
}

TEST(Semaphore, under_random_cancellation_no_permit_is_lost_or_duplicated) {
  struct Holder {
    static Task<void> run(Loop& loop, Semaphore& semaphore, int& inside) {
      for (int i = 0; i < 20; ++i) {
        auto event =
            co_await race(loop.sleep(Duration(loop.random().below(3))), semaphore.acquire());
        if (!event.second()) continue;
        EXPECT_LE(++inside, 2);
        co_await loop.sleep(Duration(loop.random().below(3)));
        --inside;
      }
    }
  };
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    VirtualRuntime runtime(seed);
    Semaphore semaphore(runtime.loop, 2);
    int inside = 0;
    TaskGroup group(runtime.loop);
    for (int i = 0; i < 6; ++i) group.spawn(Holder::run(runtime.loop, semaphore, inside));
    runtime.loop.run(group.join()).value();
    ASSERT_EQ(semaphore.free(), 2u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace specgen
