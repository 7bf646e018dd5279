#include "runtime/worker_thread.h"

#include <pthread.h>
#include <signal.h>

namespace specgen {

WorkerThread::WorkerThread(Loop& loop, RealDriver& driver) : loop_(loop), driver_(driver) {
  // The new thread inherits the mask: signals are handled on the loop's thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work_until_stopped(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkerThread::~WorkerThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WorkerThread::enqueue(Work work) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void WorkerThread::work_until_stopped() {
  while (true) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace specgen
