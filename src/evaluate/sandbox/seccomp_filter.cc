#include "evaluate/sandbox/seccomp_filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "base/file.h"

namespace specgen {
namespace {

constexpr int kOpenTreeAttr = 467;  // Linux 6.15; not in the headers that we compile with

constexpr int kNeverNeeded[] = {
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
    // Parts of the kernel with many past vulnerabilities.
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

constexpr int kSystemVIpc[] = {SYS_shmget, SYS_shmat,  SYS_shmctl,
                               SYS_semget, SYS_msgget, SYS_mq_open};

constexpr std::uint64_t kNewNamespaces[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                            CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                            CLONE_NEWNET};
constexpr std::uint64_t kQueryPersonality = 0xffffffff;

// Collects rules for one filter. The first error is kept and returned by program().
class Rules {
 public:
  explicit Rules(std::uint32_t default_action) : context_(::seccomp_init(default_action)) {
    if (!context_) error_ = ENOMEM;
    note(::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  }

  void add(std::uint32_t action, int call) {
    note(::seccomp_rule_add_exact_array(context_.get(), action, call, 0, nullptr));
  }
  void add(std::uint32_t action, int call, scmp_arg_cmp when) {
    note(::seccomp_rule_add_exact_array(context_.get(), action, call, 1, &when));
  }

  Result<FilterProgram> program() {
    if (error_ != 0) return fail_errno("libseccomp", error_);
    Fd file(::memfd_create("filter", MFD_CLOEXEC));  // libseccomp 2.5 can export to a file only
    if (!file) return fail_errno("memfd_create", errno);
    note(::seccomp_export_bpf(context_.get(), file.get()));
    if (error_ != 0) return fail_errno("libseccomp", error_);
    off_t size = ::lseek(file.get(), 0, SEEK_END);
    FilterProgram program(static_cast<std::size_t>(std::max<off_t>(size, 0)), '\0');
    ssize_t read = ::pread(file.get(), program.data(), program.size(), 0);
    if (size <= 0 || read != size) return fail_errno("reading a filter", errno);
    return program;
  }

 private:
  struct Release {
    void operator()(void* context) const { ::seccomp_release(context); }
  };
  void note(int result) {
    if (result < 0 && error_ == 0) error_ = -result;
  }
  std::unique_ptr<void, Release> context_;
  int error_ = 0;
};

// Conditions on arguments of which the kernel takes only the lower half, as ioctl's command.
scmp_arg_cmp has_bits(unsigned argument, std::uint64_t bits) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = bits};
}
scmp_arg_cmp equals_32(unsigned argument, std::uint64_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = 0xffffffff, .datum_b = value};
}
// Compares all 64 bits: libseccomp has no masked form of this. A stray upper half is refused too.
scmp_arg_cmp differs(unsigned argument, std::uint64_t value) {
  return {.arg = argument, .op = SCMP_CMP_NE, .datum_a = value, .datum_b = 0};
}

}  // namespace

Result<FilterProgram> sandbox_filter(FilterOptions options) {
  Rules rules(SCMP_ACT_ALLOW);
  constexpr std::uint32_t kRefused = SCMP_ACT_ERRNO(EPERM);
  for (int call : kNeverNeeded) rules.add(kRefused, call);
  for (std::uint64_t flag : kNewNamespaces) rules.add(kRefused, SYS_clone, has_bits(0, flag));
  // A filter cannot read its flags, which are in memory. "No such call" makes the C library fall
  // back to clone.
  rules.add(SCMP_ACT_ERRNO(ENOSYS), SYS_clone3);
  for (unsigned command : {TIOCSTI, TIOCLINUX}) {
    rules.add(kRefused, SYS_ioctl, equals_32(1, command));
  }
  rules.add(kRefused, SYS_personality, differs(0, kQueryPersonality));
  constexpr std::uint32_t kNoSuchFamily = SCMP_ACT_ERRNO(EAFNOSUPPORT);
  if (options.unix_sockets) {
    rules.add(kNoSuchFamily, SYS_socket, differs(0, AF_UNIX));
  } else {
    rules.add(kNoSuchFamily, SYS_socket);
  }
  if (!options.system_v_ipc) {
    for (int call : kSystemVIpc) rules.add(kRefused, call);
  }
  return rules.program();
}

Result<FilterProgram> computing_filter() {
  Rules rules(SCMP_ACT_KILL_PROCESS);
  for (int call : {SYS_futex, SYS_exit_group, SYS_exit, SYS_rt_sigreturn, SYS_sched_yield}) {
    rules.add(SCMP_ACT_ALLOW, call);
  }
  return rules.program();
}

Result<void> apply_filter(const FilterProgram& program, FilteredThreads threads) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("no_new_privs", errno);
  auto* instructions = const_cast<char*>(program.data());  // the kernel only reads them
  sock_fprog given{.len = static_cast<unsigned short>(program.size() / sizeof(sock_filter)),
                   .filter = reinterpret_cast<sock_filter*>(instructions)};
  unsigned long flags = threads == FilteredThreads::all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0UL;
  long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &given);
  if (result < 0) return fail_errno("seccomp", errno);
  if (result > 0) {
    return fail(ErrorCode::system_call, "seccomp: a thread already has a filter of its own");
  }
  return {};
}

}  // namespace specgen
