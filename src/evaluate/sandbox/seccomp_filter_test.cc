#include "evaluate/sandbox/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace specgen {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kOurs = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kOurs = AUDIT_ARCH_AARCH64;
#endif

seccomp_data call(long number, std::uint64_t first = 0, std::uint64_t second = 0) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = kOurs;
  data.args[0] = first;
  data.args[1] = second;
  return data;
}

// The kernel's rules, for the few instructions that our programs have.
std::uint32_t run(const std::vector<sock_filter>& program, const seccomp_data& data) {
  std::uint32_t held = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    bool test = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        EXPECT_LE(step.k + 4, sizeof data);
        std::memcpy(&held, reinterpret_cast<const char*>(&data) + step.k, 4);
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JEQ | BPF_K:
        test = held == step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        test = held >= step.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        test = (held & step.k) != 0;
        break;
      default:
        ADD_FAILURE() << "an instruction that is not known: " << step.code;
        return 0;
    }
    at += test ? step.jt : step.jf;
  }
  ADD_FAILURE() << "the program runs off its end";
  return 0;
}

std::uint32_t refused_with(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

TEST(SeccompFilter, refuses_what_is_listed_and_allows_the_rest) {
  auto program = filter_program(refusals({}));
  for (long refused : {SYS_ptrace, SYS_bpf, SYS_mount, SYS_unshare, SYS_setns, SYS_io_uring_setup,
                       SYS_keyctl, SYS_perf_event_open, SYS_userfaultfd, SYS_init_module,
                       SYS_reboot, SYS_open_by_handle_at, SYS_process_vm_writev}) {
    EXPECT_EQ(run(program, call(refused)), refused_with(EPERM)) << refused;
  }
  // Of these CUDA needs some, compilers others.
  for (long allowed : {SYS_read, SYS_mmap, SYS_memfd_create, SYS_ioctl, SYS_execve, SYS_futex,
                       SYS_socketpair, SYS_seccomp, SYS_prctl, SYS_shmget, SYS_mbind}) {
    EXPECT_EQ(run(program, call(allowed)), SECCOMP_RET_ALLOW) << allowed;
  }
}

TEST(SeccompFilter, tells_threads_from_namespaces) {
  auto program = filter_program(refusals({}));
  EXPECT_EQ(run(program, call(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)),
            SECCOMP_RET_ALLOW);
  for (std::uint64_t flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC,
                             CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    EXPECT_EQ(run(program, call(SYS_clone, CLONE_VM | flag)), refused_with(EPERM)) << flag;
  }
  // Its flags cannot be seen: "no such call" makes the C library use clone.
  EXPECT_EQ(run(program, call(SYS_clone3)), refused_with(ENOSYS));
}

TEST(SeccompFilter, is_not_fooled_by_the_upper_half_of_an_argument) {
  auto program = filter_program(refusals({}));
  constexpr std::uint64_t kUpper = std::uint64_t{1} << 32;
  EXPECT_EQ(run(program, call(SYS_ioctl, 0, TIOCSTI)), refused_with(EPERM));
  EXPECT_EQ(run(program, call(SYS_ioctl, 0, kUpper | TIOCSTI)), refused_with(EPERM));
  EXPECT_EQ(run(program, call(SYS_ioctl, 0, kUpper | TIOCLINUX)), refused_with(EPERM));
  EXPECT_EQ(run(program, call(SYS_ioctl, 0, TCGETS)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(run(program, call(SYS_socket, kUpper | AF_INET)), refused_with(EAFNOSUPPORT));
}

TEST(SeccompFilter, allows_sockets_within_the_host_only_where_asked) {
  auto some = filter_program(refusals({.sockets_within_host = true}));
  EXPECT_EQ(run(some, call(SYS_socket, AF_UNIX)), SECCOMP_RET_ALLOW);
  for (std::uint64_t family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG}) {
    EXPECT_EQ(run(some, call(SYS_socket, family)), refused_with(EAFNOSUPPORT)) << family;
  }
  auto none = filter_program(refusals({.sockets_within_host = false, .system_v_ipc = false}));
  EXPECT_EQ(run(none, call(SYS_socket, AF_UNIX)), refused_with(EAFNOSUPPORT));
  EXPECT_EQ(run(none, call(SYS_shmget)), refused_with(EPERM));
}

TEST(SeccompFilter, kills_what_speaks_other_numbers) {
  auto program = filter_program(refusals({}));
  seccomp_data foreign = call(SYS_read);
  foreign.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(run(program, foreign), SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
  EXPECT_EQ(run(program, call(0x40000000 | SYS_ptrace)), SECCOMP_RET_KILL_PROCESS);
#endif
}

TEST(SeccompFilter, is_taken_by_the_kernel) {
  pid_t child = ::fork();
  if (child == 0) {
    if (!apply_filter(filter_program(refusals({})), false)) ::_exit(1);
    bool held = ::syscall(SYS_bpf, 0, 0, 0) < 0 && errno == EPERM &&
                ::socket(AF_INET, SOCK_STREAM, 0) < 0 && ::getppid() > 0;
    ::_exit(held ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace specgen
