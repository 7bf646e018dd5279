#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/environment.h"
#include "base/file.h"
#include "evaluate/sandbox/poison_parts.h"

namespace specgen::poison {
namespace fs = std::filesystem;
namespace {

std::string argument(Arguments arguments, std::size_t at) {
  return at < arguments.size() ? arguments[at] : std::string();
}

Escape connect_to(const char* address, int port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return {};
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address, &to.sin_addr);
  int result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return result == 0 ? fmt::format("connected to {}:{}", address, port) : Escape();
}

Escape open_to_read(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char first = 0;
  return fd && ::read(fd.get(), &first, 1) == 1 ? path + " was read" : Escape();
}

Escape open_to_write(const std::string& path, int more = 0) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | more, 0666));
  return fd ? path + " was opened for writing" : Escape();
}

bool same_pid_namespace(const std::string& theirs) {
  std::error_code error;
  return fs::read_symlink("/proc/self/ns/pid", error).string() == theirs;
}

std::string tmp_folder() {
  return environment_variable("TMPDIR").value_or("/tmp");
}

}  // namespace

Escape connect_out(Arguments arguments) {
  int port = std::atoi(argument(arguments, 0).c_str());
  for (const char* address : {"127.0.0.1", "10.0.0.1"}) {
    if (Escape escape = connect_to(address, port); !escape.empty()) return escape;
  }
  for (int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK}) {
    for (int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW}) {
      Fd fd(::socket(family, type | SOCK_CLOEXEC, 0));
      if (fd) return fmt::format("a socket of family {} was created", family);
    }
  }
  return {};
}

Escape read_secret(Arguments arguments) {
  std::string path = argument(arguments, 0);
  if (path.empty()) return "there is no secret to read";
  for (const std::string& prefix :
       {std::string(), std::string("/proc/1/root"), fmt::format("/proc/{}/root", ::getppid()),
        std::string("/proc/self/root/..")}) {
    if (Escape escape = open_to_read(prefix + path); !escape.empty()) return escape;
  }
  // From the current folder upwards.
  if (Escape escape = open_to_read("../../../../../../../.." + path); !escape.empty())
    return escape;
  for (const char* file : {"/etc/shadow", "/etc/ssh/sshd_config", "/proc/1/environ"}) {
    // In a pid namespace 1 is bubblewrap itself, whose environment is not secret.
    if (std::string_view(file).starts_with("/proc") && ::getppid() == 1) continue;
    if (Escape escape = open_to_read(file); !escape.empty()) return escape;
  }
  return {};
}

Escape write_outside(Arguments arguments) {
  std::string folder = argument(arguments, 0);
  if (folder.empty()) return "there is no folder to write to";
  if (Escape escape = open_to_write(folder + "/written", O_CREAT); !escape.empty()) return escape;
  if (::mkdir((folder + "/made").c_str(), 0777) == 0) return "a folder was made in " + folder;
  if (::unlink((folder + "/kept").c_str()) == 0) return "a file was removed from " + folder;
  if (::chmod(folder.c_str(), 0700) == 0) return "the rights of " + folder + " were changed";
  if (::truncate((folder + "/kept").c_str(), 0) == 0) return "a file was emptied in " + folder;
  std::string mine = tmp_folder() + "/mine";
  if (Escape opened = open_to_write(mine, O_CREAT); opened.empty()) {
    return "the private folder cannot be written to";
  }
  if (::rename(mine.c_str(), (folder + "/moved").c_str()) == 0) return "a file was moved out";
  if (::link(mine.c_str(), (folder + "/linked").c_str()) == 0) return "a file was linked out";
  for (const char* path : {"/usr/specgen-poison", "/specgen-poison", "/etc/specgen-poison",
                           "/dev/specgen-poison", "/dev/shm/../specgen-poison"}) {
    if (Escape escape = open_to_write(path, O_CREAT); !escape.empty()) return escape;
  }
  return open_to_write("/proc/self/exe");
}

Escape symlink_escape(Arguments arguments) {
  std::string folder = argument(arguments, 0);
  std::string link = tmp_folder() + "/way-out";
  if (::symlink(folder.c_str(), link.c_str()) != 0) return "a link cannot be made inside";
  if (Escape escape = open_to_read(link + "/kept"); !escape.empty()) return escape;
  if (Escape escape = open_to_write(link + "/written", O_CREAT); !escape.empty()) return escape;
  std::string hard = tmp_folder() + "/hard";
  if (::link((folder + "/kept").c_str(), hard.c_str()) == 0) return "a file was linked in";
  return {};  // the link stays: the cleanup must not follow it
}

Escape signal_host(Arguments arguments) {
  int process = std::atoi(argument(arguments, 0).c_str());
  if (!same_pid_namespace(argument(arguments, 1))) return {};  // the pid is another process here
  return ::kill(process, 0) == 0 ? fmt::format("process {} can be killed", process) : Escape();
}

Escape kill_all(Arguments arguments) {
  ::kill(-1, SIGKILL);
  return signal_host(arguments);
}

Escape see_host(Arguments arguments) {
  if (!same_pid_namespace(argument(arguments, 1))) return {};
  DIR* folder = ::opendir("/proc");
  if (!folder) return {};
  ::closedir(folder);
  return "the host's processes can be listed";
}

Escape ptrace_parent(Arguments) {
  if (::ptrace(PTRACE_SEIZE, ::getppid(), nullptr, nullptr) == 0) return "the parent is traced";
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) return "tracing is allowed";
  // In a pid namespace the parent is bubblewrap's own process, restricted as we are.
  if (::getppid() == 1) return {};
  return open_to_write(fmt::format("/proc/{}/mem", ::getppid()));
}

Escape signal_parent(Arguments arguments) {
  pid_t parent = ::getppid();
  int result = ::kill(parent, SIGKILL);
  // Bubblewrap's first process has our uid, but the kernel does not deliver signals to pid 1.
  if (result == 0 && parent == 1 && ::getppid() == 1) return {};
  if (result == 0) return fmt::format("the parent, {}, was killed", parent);
  return signal_host(arguments);
}

}  // namespace specgen::poison
