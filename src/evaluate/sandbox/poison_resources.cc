#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "base/units.h"
#include "evaluate/sandbox/poison_parts.h"

namespace specgen::poison {
namespace {

std::uint64_t number(Arguments arguments, std::size_t at, std::uint64_t fallback) {
  return at < arguments.size() ? std::strtoull(arguments[at].c_str(), nullptr, 10) : fallback;
}

// Not a tail call, and with an end condition that the compiler cannot remove.
[[gnu::noinline]] int descend(volatile char* above) {
  volatile char frame[4096];
  frame[0] = above ? above[0] : 'x';
  if (above == frame) return 0;
  return descend(frame) + frame[0];
}

}  // namespace

Escape fork_bomb(Arguments) {
  while (true) {
    if (::fork() < 0) ::sched_yield();
  }
}

int count_forks(int limit) {
  std::vector<pid_t> children;
  for (int i = 0; i < limit; ++i) {
    pid_t child = ::fork();
    if (child < 0) break;
    if (child == 0) {
      while (true) ::pause();
    }
    children.push_back(child);
  }
  for (pid_t child : children) ::kill(child, SIGKILL);
  for (pid_t child : children) ::waitpid(child, nullptr, 0);
  return static_cast<int>(children.size());
}

Escape memory_hog(Arguments arguments) {
  std::uint64_t megabytes = number(arguments, 0, 1 << 20);
  constexpr std::size_t kPiece = 4 << 20;
  for (std::uint64_t taken = 0; taken < megabytes; taken += kPiece >> 20) {
    void* piece =
        ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return {};
    for (std::size_t i = 0; i < kPiece; i += 4096) static_cast<volatile char*>(piece)[i] = 1;
  }
  return fmt::format("{} MiB were allocated", megabytes);
}

Escape reserve_100g(Arguments) {
  void* piece = ::mmap(nullptr, GiB(100).count, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return piece == MAP_FAILED ? "100 GiB of addresses are refused, which a GPU driver needs" : "";
}

Escape endless_loop(Arguments) {
  for (volatile int forever = 1; forever;) {
  }
  return {};
}

Escape endless_output(Arguments) {
  std::string line(4096, 'x');
  while (write_all(STDOUT_FILENO, line) == 0) {
  }
  return {};
}

Escape disk_fill(Arguments arguments) {
  std::uint64_t max_in_one = number(arguments, 0, 16) << 20;
  std::uint64_t max_in_all = number(arguments, 1, 64) << 20;
  ::signal(SIGXFSZ, SIG_IGN);
  std::string folder = environment_variable("TMPDIR").value_or("/tmp");
  std::string piece(1 << 16, 'x');
  std::uint64_t total = 0;
  for (int files = 0; files < 4096; ++files) {
    Fd fd(::open(fmt::format("{}/fill-{}", folder, files).c_str(), O_WRONLY | O_CREAT, 0600));
    if (!fd) return {};
    std::uint64_t size = 0;
    while (true) {
      ssize_t written = ::write(fd.get(), piece.data(), piece.size());
      if (written <= 0) break;
      size += static_cast<std::uint64_t>(written);
      if (size > max_in_one) return fmt::format("one file has {} bytes", size);
      if (total + size > max_in_all) return fmt::format("{} bytes were written", total + size);
    }
    total += size;
    if (size == 0) return {};
  }
  return {};
}

Escape daemon(Arguments) {
  pid_t child = ::fork();
  if (child < 0) return {};
  if (child > 0) {
    ::waitpid(child, nullptr, 0);
    return {};
  }
  ::setsid();
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  if (::fork() != 0) ::_exit(0);
  for (int fd : {0, 1, 2})
    ::close(fd);  // so that the caller does not wait for its output; 3 stays open
  while (true) ::pause();
}

Escape stop_self(Arguments) {
  ::raise(SIGSTOP);
  return {};
}

Escape close_descriptors(Arguments) {
  for (int fd = 0; fd < 4096; ++fd) ::close(fd);
  return {};
}

Escape deep_recursion(Arguments) {
  return descend(nullptr) == 0 ? "the stack has no limit" : "";
}

}  // namespace specgen::poison
