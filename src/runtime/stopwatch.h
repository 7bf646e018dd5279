#pragma once
// Clocks, thread states and core affinity for code that measures: the judge and the benchmarks. All other code takes
// its time from the Loop.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace specgen {

// CLOCK_MONOTONIC in nanoseconds. Costs about 20 ns.
std::int64_t stopwatch_ns();

// CPU time used by all threads of a process; -1 if it has ended. The kernel updates it when the
// process leaves its core: for a running process up to one tick is missing.
std::int64_t cpu_time_ns(pid_t pid);

std::vector<pid_t> threads_of(pid_t pid);
// True if a thread sleeps; false if it runs, is runnable or has ended. A pid means the process's first thread.
bool is_asleep(pid_t thread);

// Binds the calling thread to these cores.
Result<void> pin_to_cores(const std::vector<int>& cores);
std::vector<int> allowed_cores();  // of the calling thread

// Raises the scheduling priority of this process and of children it starts later, or restores the
// default. Has no effect unless run as root.
void ask_for_preference(bool wanted);

// A hint to the processor inside a spin loop.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits for another thread: spins, and after a while yields the core, in case the other thread needs it.
class Spin {
 public:
  void pause() {
    if (++turns_ < kTurns) {
      spin_pause();
    } else {
      yield_core();
    }
  }

 private:
  static constexpr int kTurns = 4000;
  static void yield_core();
  int turns_ = 0;
};

}  // namespace specgen
