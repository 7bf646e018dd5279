#include "evaluate/sandbox/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/assert.h"

namespace specgen {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the numbers of system calls are known for x86-64 and aarch64"
#endif

constexpr long kOpenTreeAttr = 467;  // younger than the headers that we compile with

constexpr long kNeverNeeded[] = {
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    // File systems and namespaces.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_open_tree,
    SYS_move_mount,
    SYS_mount_setattr,
    kOpenTreeAttr,
    SYS_unshare,
    SYS_setns,
    SYS_open_by_handle_at,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_fanotify_init,
    // Parts of the kernel with a history.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // The machine as a whole.
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_move_pages,
    SYS_migrate_pages,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_lookup_dcookie
    SYS_lookup_dcookie,
#endif
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
    SYS__sysctl,
#endif
};

constexpr long kSystemVIpc[] = {SYS_shmget, SYS_shmat,  SYS_shmctl,
                                SYS_semget, SYS_msgget, SYS_mq_open};

constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr std::uint32_t kAskPersonality = 0xffffffff;

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter answer(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}
sock_filter jump(int test, std::uint32_t value, std::size_t if_true, std::size_t if_false) {
  SG_ASSERT(if_true < 256 && if_false < 256, "a jump of a filter is one byte");
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value,
                  static_cast<std::uint8_t>(if_true), static_cast<std::uint8_t>(if_false));
}

std::uint32_t lower_half(int argument) {
  // Both architectures are little-endian.
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args)) +
         static_cast<std::uint32_t>(argument) * 8;
}

// Up to where the number of the call is at hand.
void begin(std::vector<sock_filter>& program) {
  program.push_back(load(offsetof(seccomp_data, arch)));
  program.push_back(jump(BPF_JEQ, kArchitecture, 1, 0));
  program.push_back(answer(SECCOMP_RET_KILL_PROCESS));
  program.push_back(load(offsetof(seccomp_data, nr)));
#if defined(__x86_64__)
  constexpr std::uint32_t kX32 = 0x40000000;  // the same calls under other numbers
  program.push_back(jump(BPF_JGE, kX32, 0, 1));
  program.push_back(answer(SECCOMP_RET_KILL_PROCESS));
#endif
}

void add(std::vector<sock_filter>& program, const Refusal& refusal) {
  auto call = static_cast<std::uint32_t>(refusal.call);
  sock_filter refuse =
      answer(SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(refusal.answer) & SECCOMP_RET_DATA));
  if (refusal.when == Refusal::When::always) {
    program.push_back(jump(BPF_JEQ, call, 0, 1));
    program.push_back(refuse);
    return;
  }
  program.push_back(jump(BPF_JEQ, call, 0, 4));
  program.push_back(load(lower_half(refusal.argument)));
  switch (refusal.when) {
    case Refusal::When::has_bits:
      program.push_back(jump(BPF_JSET, refusal.value, 0, 1));
      break;
    case Refusal::When::equals:
      program.push_back(jump(BPF_JEQ, refusal.value, 0, 1));
      break;
    case Refusal::When::differs:
    case Refusal::When::always:
      program.push_back(jump(BPF_JEQ, refusal.value, 1, 0));
      break;
  }
  program.push_back(refuse);
  program.push_back(load(offsetof(seccomp_data, nr)));  // others may ask about the same call
}

}  // namespace

std::vector<Refusal> refusals(FilterOptions wish) {
  using When = Refusal::When;
  std::vector<Refusal> refused;
  for (long call : kNeverNeeded) refused.push_back({.call = call, .answer = EPERM});
  // Its flags lie in memory, where no filter can look: the C library then falls back to clone.
  refused.push_back({.call = SYS_clone3, .answer = ENOSYS});
  refused.push_back({.call = SYS_clone,
                     .answer = EPERM,
                     .when = When::has_bits,
                     .argument = 0,
                     .value = kNewNamespaces});
  for (std::uint32_t command : {TIOCSTI, TIOCLINUX}) {
    refused.push_back({.call = SYS_ioctl,
                       .answer = EPERM,
                       .when = When::equals,
                       .argument = 1,
                       .value = command});
  }
  refused.push_back({.call = SYS_personality,
                     .answer = EPERM,
                     .when = When::differs,
                     .argument = 0,
                     .value = kAskPersonality});
  if (wish.sockets_within_host) {
    refused.push_back({.call = SYS_socket,
                       .answer = EAFNOSUPPORT,
                       .when = When::differs,
                       .argument = 0,
                       .value = AF_UNIX});
  } else {
    refused.push_back({.call = SYS_socket, .answer = EAFNOSUPPORT});
  }
  if (!wish.system_v_ipc) {
    for (long call : kSystemVIpc) refused.push_back({.call = call, .answer = EPERM});
  }
  return refused;
}

std::vector<sock_filter> filter_program(std::span<const Refusal> refused) {
  std::vector<sock_filter> program;
  begin(program);
  for (const Refusal& refusal : refused) add(program, refusal);
  program.push_back(answer(SECCOMP_RET_ALLOW));
  return program;
}

std::vector<sock_filter> allow_list_program(std::span<const long> allowed) {
  std::vector<sock_filter> program;
  begin(program);
  for (long call : allowed) {
    program.push_back(jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 1));
    program.push_back(answer(SECCOMP_RET_ALLOW));
  }
  program.push_back(answer(SECCOMP_RET_KILL_PROCESS));
  return program;
}

Result<void> apply_filter(std::span<const sock_filter> program, bool all_threads) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("no_new_privs", errno);
  sock_fprog given{.len = static_cast<unsigned short>(program.size()),
                   .filter = const_cast<sock_filter*>(program.data())};
  unsigned long flags = all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &given);
  if (result < 0) return fail_errno("seccomp", errno);
  if (result > 0) {
    return fail(ErrorCode::system_call, "seccomp: a thread has a filter of its own already");
  }
  return {};
}

}  // namespace specgen
