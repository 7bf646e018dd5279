#pragma once
// For those who measure: the judge, and benchmarks. Everything else takes its time from the Loop.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace specgen {

// Nanoseconds of a clock that neither jumps nor is slewed. Costs about 20 ns.
std::int64_t stopwatch_ns();

// Processor time that a process has used so far, all threads together; -1 if it is gone. The kernel
// brings it up to date when the process goes off its core: of one that runs, up to a tick is missing.
std::int64_t cpu_time_ns(pid_t pid);

std::vector<pid_t> threads_of(pid_t pid);
// Whether a thread sleeps (true), runs or wants to run (false). False if it is gone. A process stands for its first.
bool is_asleep(pid_t thread);

// Binds the calling thread to these cores.
Result<void> pin_to_cores(const std::vector<int>& cores);
std::vector<int> allowed_cores();  // of the calling thread

// Asks the scheduler to prefer this process, and the children it starts from now on, over others
// that want the same core; or no longer. Only root is heard.
void ask_for_preference(bool wanted);

// A hint to the processor inside a loop that waits for another core.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waiting for another thread: spins, and after a while lets others have the core, in case the other
// thread needs this very one.
class Spin {
 public:
  void pause() {
    if (++turns_ < kTurns) {
      spin_pause();
    } else {
      give_way();
    }
  }

 private:
  static constexpr int kTurns = 4000;
  static void give_way();
  int turns_ = 0;
};

}  // namespace specgen
