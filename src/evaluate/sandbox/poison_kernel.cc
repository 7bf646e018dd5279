#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/environment.h"
#include "base/file.h"
#include "evaluate/sandbox/poison_parts.h"

namespace specgen::poison {
namespace {

// The filter refuses before the kernel checks the arguments.
bool refused(long result) {
  return result < 0 && (errno == EPERM || errno == ENOSYS);
}

}  // namespace

Escape mount_something(Arguments) {
  std::string folder = environment_variable("TMPDIR").value_or("/tmp");
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr) == 0) return "a tmpfs was mounted";
  if (!refused(::mount("/", folder.c_str(), nullptr, MS_BIND, nullptr))) return "bind is allowed";
  if (!refused(::mount(nullptr, "/", nullptr, MS_REMOUNT, nullptr))) return "remount is allowed";
  if (!refused(::umount2("/proc", MNT_DETACH))) return "umount is allowed";
  if (!refused(::syscall(SYS_pivot_root, ".", "."))) return "pivot_root is allowed";
  if (!refused(::syscall(SYS_fsopen, "tmpfs", 0))) return "fsopen is allowed";
  if (!refused(::syscall(SYS_open_tree, AT_FDCWD, "/", 1))) return "open_tree is allowed";
  if (::chroot("/tmp") == 0) return "chroot is allowed";
  return {};
}

Escape new_namespace(Arguments) {
  for (int flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID}) {
    if (::unshare(flag) == 0) return fmt::format("unshare({:#x}) is allowed", flag);
    unsigned long flags = static_cast<unsigned long>(flag) | CLONE_NEWUSER | SIGCHLD;
    long child = ::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0);
    if (child == 0) ::_exit(0);
    if (child > 0) return fmt::format("clone({:#x}) is allowed", flags);
  }
  Fd self(::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC));
  if (self && !refused(::setns(self.get(), 0))) return "setns is allowed";
  struct {
    std::uint64_t flags = CLONE_NEWUSER;
    std::uint64_t rest[10] = {};
  } arguments;
  if (!refused(::syscall(SYS_clone3, &arguments, 64))) return "clone3 is allowed";
  return {};
}

Escape bad_syscalls(Arguments) {
  struct Call {
    const char* name;
    long number;
  };
  constexpr Call kCalls[] = {
      {"bpf", SYS_bpf},
      {"userfaultfd", SYS_userfaultfd},
      {"perf_event_open", SYS_perf_event_open},
      {"keyctl", SYS_keyctl},
      {"add_key", SYS_add_key},
      {"request_key", SYS_request_key},
      {"io_uring_setup", SYS_io_uring_setup},
      {"io_uring_enter", SYS_io_uring_enter},
      {"process_vm_readv", SYS_process_vm_readv},
      {"process_vm_writev", SYS_process_vm_writev},
      {"open_by_handle_at", SYS_open_by_handle_at},
      {"init_module", SYS_init_module},
      {"finit_module", SYS_finit_module},
      {"kexec_load", SYS_kexec_load},
      {"swapon", SYS_swapon},
      {"reboot", SYS_reboot},
  };
  for (const Call& call : kCalls) {
    // Invalid arguments for each: without a filter the kernel answers with another error, or the
    // call is harmless.
    if (!refused(::syscall(call.number, -1L, 0L, 0L, 0L, 0L, 0L))) {
      return fmt::format("{} is allowed", call.name);
    }
  }
  if (!refused(::ioctl(0, TIOCSTI, "x"))) return "TIOCSTI is allowed";
  if (!refused(::personality(ADDR_NO_RANDOMIZE))) return "personality is allowed";
  return {};
}

Escape setuid_root(Arguments) {
  if (::setuid(0) == 0 || ::seteuid(0) == 0 || ::setresuid(0, 0, 0) == 0) return "we are root";
  if (::setgid(0) == 0) return "we are in root's group";
  gid_t root = 0;
  if (::setgroups(1, &root) == 0) return "groups can be set";
  if (::getuid() == 0 || ::geteuid() == 0) return "we are root from the start";
  // A set-uid program must not be possible.
  std::string copy = environment_variable("TMPDIR").value_or("/tmp") + "/set";
  Fd file(::open(copy.c_str(), O_WRONLY | O_CREAT, 0755));
  if (file && ::fchown(file.get(), 0, 0) == 0) return "a file was given to root";
  return {};
}

Escape device_nodes(Arguments) {
  std::string node = environment_variable("TMPDIR").value_or("/tmp") + "/node";
  for (auto [major, minor] : {std::pair{1, 1}, std::pair{8, 0}, std::pair{254, 0}}) {
    dev_t number = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
    for (mode_t type : {S_IFCHR, S_IFBLK}) {
      if (::mknod(node.c_str(), type | 0666, number) == 0) return "a device node was made";
    }
  }
  for (const char* path : {"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/vda",
                           "/dev/sda", "/dev/nvme0n1", "/dev/kvm", "/dev/fuse"}) {
    for (int mode : {O_RDONLY, O_WRONLY}) {
      Fd fd(::open(path, mode | O_CLOEXEC | O_NONBLOCK));
      if (fd) return fmt::format("{} was opened", path);
    }
  }
  return {};
}

Escape proc_write(Arguments) {
  for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
                           "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger", "/proc/1/mem",
                           "/proc/kcore", "/sys/kernel/uevent_helper",
                           "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs"}) {
    // In a pid namespace 1 is bubblewrap's own process, restricted as we are.
    if (std::string_view(path) == "/proc/1/mem" && ::getppid() == 1) continue;
    Fd fd(::open(path, O_WRONLY | O_CLOEXEC));
    if (fd) return fmt::format("{} was opened for writing", path);
  }
  return {};
}

}  // namespace specgen::poison
