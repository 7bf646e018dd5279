#include "kvcache/kv_lender.h"

#include <gtest/gtest.h>

#include "kvcache/kv_testing.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace kv_testing;

TEST(KvLender, what_the_system_has_free_is_read) {
  EXPECT_EQ(available_in("MemTotal:  100 kB\nMemAvailable:     48 kB\nx: 1 kB\n"), KiB(48));
  EXPECT_EQ(available_in("nothing"), Bytes{});
}

TEST(KvLender, gpus_are_known_by_their_numbers) {
  EXPECT_EQ(gpu_number("cuda:12"), 12);
  EXPECT_FALSE(gpu_number("cpu:0").has_value());
  EXPECT_FALSE(gpu_number("cuda:").has_value());
}

Task<std::pair<Bytes, Bytes>> borrow(MemoryProvider& lender, KvStore& store) {
  Bytes during;
  {
    auto room = co_await lender.reserve("cpu:0");
    auto quiet = co_await lender.pause_copies("cpu:0");
    during = store.lent();
  }
  co_return std::pair(during, store.lent());
}

TEST(KvLender, memory_is_taken_for_a_job_and_lent_again_after_it) {
  RealRuntime runtime;
  auto store = open_store(MiB(64));
  KvReclaim reclaim(*store);
  const Bytes before = store->lent();
  // More than any host has: all that there is.
  auto lender = lend_from(runtime.loop, runtime.driver, reclaim, Bytes{std::uint64_t{1} << 60});
  auto [during, after] = runtime.loop.run(borrow(*lender, *store));
  EXPECT_EQ(during, Bytes{});
  EXPECT_EQ(after, before);
  EXPECT_EQ(reclaim.times().count, 1u);
}

TEST(KvLender, a_job_that_finds_enough_takes_nothing) {
  RealRuntime runtime;
  auto store = open_store(MiB(64));
  KvReclaim reclaim(*store);
  auto lender = lend_from(runtime.loop, runtime.driver, reclaim, Bytes{});
  auto [during, after] = runtime.loop.run(borrow(*lender, *store));
  EXPECT_EQ(during, after);
  EXPECT_EQ(reclaim.times().count, 0u);
}

Task<void> ask_and_leave(Loop& loop, MemoryProvider& lender) {
  TaskGroup group(loop);
  group.spawn(
      [](MemoryProvider& asked) -> Task<void> { (void)co_await asked.reserve("cpu:0"); }(lender));
  co_await loop.yield();
  group.cancel();
}

TEST(KvLender, a_job_that_is_cancelled_while_it_waits_leaves_nothing_taken) {
  RealRuntime runtime;
  auto store = open_store(MiB(64));
  KvReclaim reclaim(*store);
  const Bytes before = store->lent();
  auto lender = lend_from(runtime.loop, runtime.driver, reclaim, Bytes{std::uint64_t{1} << 60});
  runtime.loop.run(ask_and_leave(runtime.loop, *lender));
  // The next one waits for its turn, and by then the first answer has been thrown away.
  runtime.loop.run(borrow(*lender, *store));
  runtime.loop.run(borrow(*lender, *store));
  EXPECT_EQ(store->lent(), before);
}

}  // namespace
}  // namespace specgen
