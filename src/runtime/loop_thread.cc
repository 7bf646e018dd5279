#include "runtime/loop_thread.h"

#include "runtime/race.h"

namespace specgen {
namespace {

// The thread ends only in stop(), also when the task has returned before.
Task<void> run_until_stopped(Task<void> work, Event& stopped) {
  co_await race(std::move(work), stopped.wait());
  co_await stopped.wait();
}

}  // namespace

LoopThread::LoopThread(Work work)
    : loop_(driver_), stopped_(loop_), thread_([this, work = std::move(work)] {
        loop_.run(run_until_stopped(work(loop_, driver_), stopped_));
      }) {}

LoopThread::~LoopThread() {
  stop();
}

void LoopThread::stop() {
  if (!thread_.joinable()) return;
  driver_.post([this] { stopped_.set(); });
  thread_.join();
}

}  // namespace specgen
