#include "runtime/thread_team.h"

#include "runtime/stopwatch.h"

namespace specgen {

ThreadTeam::ThreadTeam(int size, const std::vector<int>& cores) : size_(size) {
  auto core_of = [&](int number) {
    return static_cast<std::size_t>(number) < cores.size() ? cores[static_cast<std::size_t>(number)]
                                                           : -1;
  };
  if (core_of(0) >= 0) (void)pin_to_cores({core_of(0)});
  for (int number = 1; number < size; ++number) {
    threads_.emplace_back([this, number, core = core_of(number)] { serve(number, core); });
  }
  for (Spin spin; started_.load() < size - 1;) spin.pause();
}

ThreadTeam::~ThreadTeam() {
  stopping_ = true;
  wake();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::wake() {
  awake_.fetch_or(1);
  awake_.notify_all();
}

void ThreadTeam::rest() {
  awake_.fetch_add(1);  // odd becomes even
}

void ThreadTeam::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_.store(size_ - 1);
  generation_.fetch_add(1);
  work(0);
  for (Spin spin; running_.load() > 0;) spin.pause();
}

void ThreadTeam::barrier() {
  std::uint32_t phase = phase_.load();
  if (arrived_.fetch_add(1) + 1 == size_) {
    arrived_.store(0);
    phase_.fetch_add(1);
    return;
  }
  for (Spin spin; phase_.load() == phase;) spin.pause();
}

void ThreadTeam::serve(int number, int core) {
  if (core >= 0) (void)pin_to_cores({core});
  ++started_;
  std::uint32_t seen = 0;
  Spin spin;
  while (true) {
    std::uint32_t awake = awake_.load();
    if (awake % 2 == 0) {
      awake_.wait(awake);
      continue;
    }
    if (stopping_) return;
    if (std::uint32_t now = generation_.load(); now != seen) {
      seen = now;
      (*work_)(number);
      running_.fetch_sub(1);
      spin = {};
    }
    spin.pause();
  }
}

}  // namespace specgen
