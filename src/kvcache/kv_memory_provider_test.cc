#include "kvcache/kv_memory_provider.h"

#include <gtest/gtest.h>

#include "kvcache/kv_testing.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace kv_testing;

TEST(KvMemoryProvider, reads_the_available_memory_of_the_system) {
  EXPECT_EQ(available_in("MemTotal:  100 kB\nMemAvailable:     48 kB\nx: 1 kB\n"), KiB(48));
  EXPECT_EQ(available_in("nothing"), Bytes{});
}

TEST(KvMemoryProvider, parses_the_number_of_a_gpu) {
  EXPECT_EQ(gpu_number("cuda:12"), 12);
  EXPECT_FALSE(gpu_number("cpu:0").has_value());
  EXPECT_FALSE(gpu_number("cuda:").has_value());
}

Task<std::pair<Bytes, Bytes>> borrow(MemoryProvider& provider, KvStore& store) {
  Bytes during;
  {
    auto reserved = co_await provider.reserve("cpu:0");
    auto quiet = co_await provider.pause_copies("cpu:0");
    during = store.capacity();
  }
  co_return std::pair(during, store.capacity());
}

TEST(KvMemoryProvider, memory_is_reclaimed_for_a_job_and_restored_after_it) {
  RealRuntime runtime;
  auto store = open_store(MiB(64));
  KvReclaim reclaim(*store);
  const Bytes before = store->capacity();
  // More than any host has: everything is reclaimed.
  auto provider =
      make_memory_provider(runtime.loop, runtime.driver, reclaim, Bytes{std::uint64_t{1} << 60});
  auto [during, after] = runtime.loop.run(borrow(*provider, *store));
  EXPECT_EQ(during, Bytes{});
  EXPECT_EQ(after, before);
  EXPECT_EQ(reclaim.times().count, 1u);
}

TEST(KvMemoryProvider, nothing_is_reclaimed_if_enough_is_free) {
  RealRuntime runtime;
  auto store = open_store(MiB(64));
  KvReclaim reclaim(*store);
  auto provider = make_memory_provider(runtime.loop, runtime.driver, reclaim, Bytes{});
  auto [during, after] = runtime.loop.run(borrow(*provider, *store));
  EXPECT_EQ(during, after);
  EXPECT_EQ(reclaim.times().count, 0u);
}

Task<void> ask_and_leave(Loop& loop, MemoryProvider& provider) {
  TaskGroup group(loop);
  group.spawn(
      [](MemoryProvider& asked) -> Task<void> { (void)co_await asked.reserve("cpu:0"); }(provider));
  co_await loop.yield();
  group.cancel();
}

TEST(KvMemoryProvider, memory_is_restored_if_the_job_is_cancelled_while_waiting) {
  RealRuntime runtime;
  auto store = open_store(MiB(64));
  KvReclaim reclaim(*store);
  const Bytes before = store->capacity();
  auto provider =
      make_memory_provider(runtime.loop, runtime.driver, reclaim, Bytes{std::uint64_t{1} << 60});
  runtime.loop.run(ask_and_leave(runtime.loop, *provider));
  // The next call waits for its turn, and by then the first result has been dropped.
  runtime.loop.run(borrow(*provider, *store));
  runtime.loop.run(borrow(*provider, *store));
  EXPECT_EQ(store->capacity(), before);
}

}  // namespace
}  // namespace specgen
