#include "runtime/loop_thread.h"

#include <gtest/gtest.h>

#include <future>

namespace specgen {
namespace {

struct SetWhenDestroyed {
  std::promise<std::thread::id>& gone;
  ~SetWhenDestroyed() { gone.set_value(std::this_thread::get_id()); }
};

Task<void> wait_for_ever(Loop& loop, std::promise<std::thread::id>& begun,
                         std::promise<std::thread::id>& gone) {
  SetWhenDestroyed set{gone};
  begun.set_value(std::this_thread::get_id());
  co_await loop.sleep(std::chrono::hours(1000));
}

TEST(LoopThread, its_task_runs_and_is_cancelled_on_its_own_thread) {
  std::promise<std::thread::id> begun, gone;
  auto begun_on = begun.get_future();
  auto gone_on = gone.get_future();
  {
    LoopThread thread([&](Loop& loop, RealDriver&) { return wait_for_ever(loop, begun, gone); });
    EXPECT_NE(begun_on.get(), std::this_thread::get_id());
  }
  EXPECT_NE(gone_on.get(), std::this_thread::get_id());
}

Task<void> end_at_once() {
  co_return;
}

TEST(LoopThread, posted_callbacks_run_there_even_after_the_task_has_ended) {
  std::promise<std::thread::id> read;
  LoopThread thread([](Loop&, RealDriver&) { return end_at_once(); });
  thread.post([&] { read.set_value(std::this_thread::get_id()); });
  EXPECT_NE(read.get_future().get(), std::this_thread::get_id());
}

}  // namespace
}  // namespace specgen
