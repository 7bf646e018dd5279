#include "evaluate/sandbox/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

namespace specgen {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif
constexpr std::uint64_t kUpperHalf = std::uint64_t{1} << 32;

seccomp_data call(long number, std::uint64_t first = 0, std::uint64_t second = 0) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = kArchitecture;
  data.args[0] = first;
  data.args[1] = second;
  return data;
}

// Interprets the instructions that libseccomp generates, by the kernel's rules.
std::uint32_t run(const FilterProgram& program, const seccomp_data& data) {
  std::vector<sock_filter> steps(program.size() / sizeof(sock_filter));
  std::memcpy(steps.data(), program.data(), steps.size() * sizeof(sock_filter));
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const sock_filter& step = steps[at];
    bool test = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        EXPECT_LE(step.k + 4, sizeof data);
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + step.k, 4);
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= step.k;
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JA:
        at += step.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        test = value == step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        test = value >= step.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        test = value > step.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        test = (value & step.k) != 0;
        break;
      default:
        ADD_FAILURE() << "unknown instruction " << step.code;
        return 0;
    }
    at += test ? step.jt : step.jf;
  }
  ADD_FAILURE() << "the program runs past its end";
  return 0;
}

std::uint32_t refused_with(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// With all arguments zero.
std::map<long, int> refused_calls() {
  std::map<long, int> refused{{SYS_clone3, ENOSYS}, {SYS_socket, EAFNOSUPPORT}};
  for (long number : {
           SYS_ptrace,
           SYS_process_vm_readv,
           SYS_process_vm_writev,
           SYS_process_madvise,
           SYS_pidfd_getfd,
           SYS_kcmp,
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
           467,  // open_tree_attr
           SYS_unshare,
           SYS_setns,
           SYS_open_by_handle_at,
           SYS_quotactl,
           SYS_quotactl_fd,
           SYS_fanotify_init,
           SYS_bpf,
           SYS_perf_event_open,
           SYS_userfaultfd,
           SYS_io_uring_setup,
           SYS_io_uring_enter,
           SYS_io_uring_register,
           SYS_add_key,
           SYS_request_key,
           SYS_keyctl,
           SYS_init_module,
           SYS_finit_module,
           SYS_delete_module,
           SYS_kexec_load,
           SYS_kexec_file_load,
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
#ifdef SYS_lookup_dcookie
           SYS_lookup_dcookie,
#endif
           SYS_personality,
#if defined(__x86_64__)
           SYS_iopl,
           SYS_ioperm,
           SYS_modify_ldt,
           SYS_uselib,
           SYS_ustat,
           SYS_sysfs,
           SYS__sysctl,
#endif
       }) {
    refused[number] = EPERM;
  }
  return refused;
}

TEST(SandboxFilter, refuses_exactly_the_listed_calls) {
  FilterProgram inside_namespaces = *sandbox_filter({});
  FilterProgram without_namespaces =
      *sandbox_filter({.unix_sockets = false, .system_v_ipc = false});
  std::map<long, int> refused = refused_calls();
  std::map<long, int> more = refused;
  for (long number : {SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_msgget, SYS_mq_open}) {
    more[number] = EPERM;
  }
  auto expected = [](const std::map<long, int>& calls, long number) {
    auto found = calls.find(number);
    return found == calls.end() ? SECCOMP_RET_ALLOW : refused_with(found->second);
  };
  constexpr long kMaxNumber = 2000;  // well above the newest call
  for (long number = 0; number < kMaxNumber; ++number) {
    EXPECT_EQ(run(inside_namespaces, call(number)), expected(refused, number)) << number;
    EXPECT_EQ(run(without_namespaces, call(number)), expected(more, number)) << number;
  }
}

TEST(SandboxFilter, allows_threads_and_refuses_namespaces) {
  FilterProgram program = *sandbox_filter({});
  EXPECT_EQ(run(program, call(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)),
            SECCOMP_RET_ALLOW);
  EXPECT_EQ(run(program, call(SYS_clone, kUpperHalf | CLONE_VM)), SECCOMP_RET_ALLOW);
  for (std::uint64_t flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC,
                             CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    for (std::uint64_t more : {std::uint64_t{0}, std::uint64_t{CLONE_VM}, kUpperHalf,
                               std::uint64_t{CLONE_NEWUSER | CLONE_NEWNET}}) {
      EXPECT_EQ(run(program, call(SYS_clone, flag | more)), refused_with(EPERM)) << flag;
    }
  }
}

TEST(SandboxFilter, ignores_the_upper_half_of_an_ioctl_command) {
  FilterProgram program = *sandbox_filter({});
  for (std::uint64_t upper : {std::uint64_t{0}, kUpperHalf}) {
    EXPECT_EQ(run(program, call(SYS_ioctl, 0, upper | TIOCSTI)), refused_with(EPERM));
    EXPECT_EQ(run(program, call(SYS_ioctl, 0, upper | TIOCLINUX)), refused_with(EPERM));
    EXPECT_EQ(run(program, call(SYS_ioctl, 0, upper | TCGETS)), SECCOMP_RET_ALLOW);
  }
}

TEST(SandboxFilter, lets_personality_be_read_only) {
  FilterProgram program = *sandbox_filter({});
  EXPECT_EQ(run(program, call(SYS_personality, 0xffffffff)), SECCOMP_RET_ALLOW);
  for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{0x0040000}, kUpperHalf}) {
    EXPECT_EQ(run(program, call(SYS_personality, value)), refused_with(EPERM)) << value;
  }
}

TEST(SandboxFilter, allows_only_unix_sockets_and_those_only_if_requested) {
  FilterProgram with_unix = *sandbox_filter({.unix_sockets = true});
  FilterProgram without = *sandbox_filter({.unix_sockets = false});
  EXPECT_EQ(run(with_unix, call(SYS_socket, AF_UNIX)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(run(without, call(SYS_socket, AF_UNIX)), refused_with(EAFNOSUPPORT));
  for (std::uint64_t family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG}) {
    for (std::uint64_t upper : {std::uint64_t{0}, kUpperHalf}) {
      EXPECT_EQ(run(with_unix, call(SYS_socket, upper | family)), refused_with(EAFNOSUPPORT));
      EXPECT_EQ(run(without, call(SYS_socket, upper | family)), refused_with(EAFNOSUPPORT));
    }
  }
}

TEST(SandboxFilter, kills_a_process_of_another_architecture) {
  for (const FilterProgram& program : {*sandbox_filter({}), *computing_filter()}) {
    seccomp_data foreign = call(SYS_read);
    foreign.arch = AUDIT_ARCH_I386;
    EXPECT_EQ(run(program, foreign), SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
    constexpr long kX32 = 0x40000000;
    for (long number : {SYS_ptrace, SYS_read, SYS_futex}) {
      EXPECT_EQ(run(program, call(kX32 | number)), SECCOMP_RET_KILL_PROCESS) << number;
    }
#endif
  }
}

TEST(SandboxFilter, is_accepted_by_the_kernel) {
  FilterProgram program = *sandbox_filter({});
  pid_t child = ::fork();
  if (child == 0) {
    if (!apply_filter(program, FilteredThreads::calling_thread)) ::_exit(1);
    bool held = ::syscall(SYS_bpf, 0, 0, 0) < 0 && errno == EPERM &&
                ::socket(AF_INET, SOCK_STREAM, 0) < 0 && ::getppid() > 0;
    ::_exit(held ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ComputingFilter, allows_exactly_five_calls) {
  FilterProgram program = *computing_filter();
  for (long number = 0; number < 2000; ++number) {
    bool allowed = number == SYS_futex || number == SYS_exit_group || number == SYS_exit ||
                   number == SYS_rt_sigreturn || number == SYS_sched_yield;
    EXPECT_EQ(run(program, call(number)), allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS)
        << number;
  }
}

// How a process ends that does this under the filter: its exit code, or minus the signal.
template <class Act>
int end_of(Act act) {
  FilterProgram program = *computing_filter();
  pid_t child = ::fork();
  if (child == 0) {
    if (!apply_filter(program, FilteredThreads::all_threads)) ::syscall(SYS_exit_group, 99);
    act();
    ::syscall(SYS_exit_group, 7);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(ComputingFilter, lets_a_program_compute_wait_and_end) {
  EXPECT_EQ(end_of([] {
              volatile double sum = 0;
              for (int i = 0; i < 1000; ++i) sum = sum + i;
              std::atomic<int> word = 1;
              ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
              ::syscall(SYS_sched_yield);
            }),
            7);
}

TEST(ComputingFilter, kills_a_program_that_makes_another_call) {
  EXPECT_EQ(end_of([] { ::syscall(SYS_getpid); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_write, 1, "x", 0); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_mmap, 0, 4096, PROT_READ, 0, -1, 0); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }), -SIGSYS);
  EXPECT_EQ(end_of([] { ::syscall(SYS_openat, -1, "/", 0); }), -SIGSYS);
}

}  // namespace
}  // namespace specgen
