#include "evaluate/sandbox/strict_filter.h"

#include <sys/syscall.h>

#include <array>

#include "evaluate/sandbox/seccomp_filter.h"

namespace specgen {

Result<void> allow_only_computing() {
  constexpr std::array<long, 5> kComputing{SYS_futex, SYS_exit_group, SYS_exit, SYS_rt_sigreturn,
                                           SYS_sched_yield};
  return apply_filter(allow_list_program(kComputing), true);
}

}  // namespace specgen
