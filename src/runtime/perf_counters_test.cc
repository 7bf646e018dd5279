#include "runtime/perf_counters.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <cerrno>
#include <limits>
#include <thread>

namespace specgen {
namespace {

constexpr std::size_t kPages = 64;

void touch_fresh_pages() {
  std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory =
      ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  ::munmap(memory, kPages * page);
}

// Software events of the kernel, which virtual machines have too. Page faults come first, twice.
constexpr PerfEvent kFaults{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS};
constexpr PerfEvent kNoSuchEvent{PERF_TYPE_SOFTWARE, 4711};
constexpr std::array<PerfEvent, PerfCounters::kEvents> kKernelEvents{
    kFaults, kFaults, kFaults, kNoSuchEvent, {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}};

class PerfCountersOfTheKernel : public testing::Test {
 protected:
  void SetUp() override {
    auto counters = PerfCounters::open(::getpid(), kKernelEvents);
    if (!counters && counters.error().code == ErrorCode::system_call) {
      GTEST_SKIP() << counters.error().summary();
    }
    ASSERT_TRUE(counters) << counters.error().summary();
  }
};

TEST_F(PerfCountersOfTheKernel, count_existing_and_future_threads) {
  std::atomic<int> stage = 0;
  std::thread old([&] {
    stage = 1;
    stage.notify_all();
    stage.wait(1);
    touch_fresh_pages();
  });
  stage.wait(0);
  PerfCounters counters = PerfCounters::open(::getpid(), kKernelEvents).value();
  counters.start();
  stage = 2;
  stage.notify_all();
  std::thread(touch_fresh_pages).join();
  old.join();
  CounterValues values = counters.stop().value();
  EXPECT_GE(values.cycles, 2 * kPages);
  EXPECT_GE(values.instructions, 2 * kPages);
  EXPECT_GE(values.cache_misses.value(), 2 * kPages);
  EXPECT_GT(values.branch_misses.value(), 0);
}

TEST_F(PerfCountersOfTheKernel, count_nothing_while_they_are_stopped) {
  PerfCounters counters = PerfCounters::open(::getpid(), kKernelEvents).value();
  counters.start();
  for (int i = 0; i < 8; ++i) std::thread(touch_fresh_pages).join();
  double busy = counters.stop().value().cycles;
  for (int i = 0; i < 8; ++i) touch_fresh_pages();
  counters.start();
  CounterValues calm = counters.stop().value();
  EXPECT_GE(busy, 8 * kPages);
  EXPECT_LT(calm.cycles, kPages);  // and without the counts of ended threads
}

TEST_F(PerfCountersOfTheKernel, start_and_stop_together_repeatedly) {
  PerfCounters counters = PerfCounters::open(::getpid(), kKernelEvents).value();
  for (int turn = 0; turn < 3; ++turn) {
    counters.start();
    touch_fresh_pages();
    CounterValues values = counters.stop().value();
    EXPECT_GE(values.cycles, kPages) << turn;
    EXPECT_NEAR(values.instructions, values.cycles, 2) << turn;
    EXPECT_NEAR(values.cache_misses.value(), values.cycles, 2) << turn;
  }
}

TEST_F(PerfCountersOfTheKernel, count_another_process_only) {
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(go.data()), 0);
  pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    if (::read(go[0], &byte, 1) == 1) touch_fresh_pages();
    ::_exit(0);
  }
  PerfCounters counters = PerfCounters::open(child, kKernelEvents).value();
  counters.start();
  for (std::size_t i = 0; i < 50; ++i) touch_fresh_pages();
  EXPECT_EQ(::write(go[1], "x", 1), 1);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  CounterValues values = counters.stop().value();
  ::close(go[0]);
  ::close(go[1]);
  EXPECT_GE(values.cycles, kPages);
  EXPECT_LT(values.cycles, 50 * kPages);
}

TEST_F(PerfCountersOfTheKernel, a_missing_event_is_reported_as_missing) {
  PerfCounters counters = PerfCounters::open(::getpid(), kKernelEvents).value();
  counters.start();
  touch_fresh_pages();
  CounterValues values = counters.stop().value();
  EXPECT_TRUE(values.cache_misses);
  EXPECT_FALSE(values.l1d_misses);
}

TEST_F(PerfCountersOfTheKernel, cycles_are_required) {
  std::array<PerfEvent, PerfCounters::kEvents> events = kKernelEvents;
  events[1] = kNoSuchEvent;
  EXPECT_FALSE(PerfCounters::open(::getpid(), events));
}

TEST(PerfCounters, the_hardware_counts_or_the_error_says_why) {
  auto counters = PerfCounters::open(::getpid());
  if (!counters) {
    EXPECT_TRUE(counters.error().code == ErrorCode::device_missing ||
                counters.error().code == ErrorCode::system_call)
        << counters.error().summary();
    EXPECT_FALSE(counters.error().context.empty());
    return;
  }
  counters->start();
  for (volatile int i = 0; i < 1'000'000; i = i + 1) {
  }
  auto values = counters->stop();
  if (!values) {
    EXPECT_EQ(values.error().code, ErrorCode::device_busy);
    return;
  }
  EXPECT_GT(values->instructions, 1e6);
  EXPECT_GT(values->cycles, 1e5);
}

TEST(PerfCounters, an_ended_process_is_an_error) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  auto counters = PerfCounters::open(child, kKernelEvents);
  ASSERT_FALSE(counters);
  EXPECT_EQ(counters.error().code, ErrorCode::system_call);
}

TEST(PerfCounters, a_refusal_names_its_cause) {
  EXPECT_EQ(counters_refused(ENOENT, "2").context,
            "this machine has no hardware counters (a virtual machine)");
  EXPECT_EQ(counters_refused(EOPNOTSUPP, "").code, ErrorCode::device_missing);
  EXPECT_TRUE(counters_refused(EACCES, "3").context.starts_with("perf_event_paranoid is 3: "));
  EXPECT_TRUE(counters_refused(EPERM, "4").context.starts_with("perf_event_paranoid is 4: "));
  // The setting is not the cause.
  for (const char* level : {"2", "-1", "", "no number"}) {
    EXPECT_FALSE(counters_refused(EPERM, level).context.contains("paranoid")) << level;
  }
  EXPECT_TRUE(counters_refused(EMFILE, "2").context.starts_with("perf_event_open: "));
}

TEST(PerfCounters, json_has_null_where_nothing_was_counted) {
  CounterValues values{
      .cycles = 200, .instructions = 500, .cache_misses = {}, .l1d_misses = 3, .branch_misses = 7};
  EXPECT_EQ(compact_json(to_json(values)),
            compact_json(boost::json::object{{"cycles", 200.0},
                                             {"instructions", 500.0},
                                             {"instructions_per_cycle", 2.5},
                                             {"cache_misses", nullptr},
                                             {"l1d_misses", 3.0},
                                             {"branch_misses", 7.0}}));
  // Nothing ran: null, since JSON has no NaN.
  EXPECT_TRUE(member_at(to_json(CounterValues{}), "instructions_per_cycle")->is_null());
}

}  // namespace
}  // namespace specgen
