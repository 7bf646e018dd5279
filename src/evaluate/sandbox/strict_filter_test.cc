#include "evaluate/sandbox/strict_filter.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace specgen {
namespace {

// How a process ends that does this under the filter: its exit code, or minus the signal.
template <class Act>
int end_of(Act act) {
  pid_t child = ::fork();
  if (child == 0) {
    if (!allow_only_computing()) ::syscall(SYS_exit_group, 99);
    act();
    ::syscall(SYS_exit_group, 7);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(StrictFilter, lets_a_program_compute_wait_and_end) {
  EXPECT_EQ(end_of([] {
              volatile double sum = 0;
              for (int i = 0; i < 1000; ++i) sum = sum + i;
              std::atomic<int> word = 1;
              ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
              ::syscall(SYS_sched_yield);
            }),
            7);
}

TEST(StrictFilter, kills_whoever_asks_the_kernel_for_anything_else) {
  EXPECT_EQ(end_of([] { ::syscall(SYS_getpid); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_write, 1, "x", 0); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_mmap, 0, 4096, PROT_READ, 0, -1, 0); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_openat, -1, "/", 0); }), -SIGSYS);
}

}  // namespace
}  // namespace specgen
