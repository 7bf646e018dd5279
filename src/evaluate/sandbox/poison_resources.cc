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

std::uint64_t number(Words words, std::size_t at, std::uint64_t otherwise) {
  return at < words.size() ? std::strtoull(words[at].c_str(), nullptr, 10) : otherwise;
}

// Not a tail call, and with an end that the compiler believes in.
[[gnu::noinline]] int descend(volatile char* above) {
  volatile char frame[4096];
  frame[0] = above ? above[0] : 'x';
  if (above == frame) return 0;
  return descend(frame) + frame[0];
}

}  // namespace

Escape fork_bomb(Words) {
  while (true) {
    if (::fork() < 0) ::sched_yield();
  }
}

int count_forks(int most) {
  std::vector<pid_t> children;
  for (int i = 0; i < most; ++i) {
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

Escape memory_hog(Words words) {
  std::uint64_t megabytes = number(words, 0, 1 << 20);
  constexpr std::size_t kPiece = 4 << 20;
  for (std::uint64_t taken = 0; taken < megabytes; taken += kPiece >> 20) {
    void* piece =
        ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return {};
    for (std::size_t i = 0; i < kPiece; i += 4096) static_cast<volatile char*>(piece)[i] = 1;
  }
  return fmt::format("{} MiB were given", megabytes);
}

Escape reserve_100g(Words) {
  void* piece = ::mmap(nullptr, GiB(100).count, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return piece == MAP_FAILED ? "100 GiB of addresses are refused, which a GPU's driver needs" : "";
}

Escape endless_loop(Words) {
  for (volatile int forever = 1; forever;) {
  }
  return {};
}

Escape endless_output(Words) {
  std::string line(4096, 'x');
  while (write_all(STDOUT_FILENO, line) == 0) {
  }
  return {};
}

Escape disk_fill(Words words) {
  std::uint64_t most_of_one = number(words, 0, 16) << 20;
  std::uint64_t max_in_all = number(words, 1, 64) << 20;
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
      if (size > most_of_one) return fmt::format("one file has {} bytes", size);
      if (total + size > max_in_all) return fmt::format("{} bytes were written", total + size);
    }
    total += size;
    if (size == 0) return {};
  }
  return {};
}

Escape daemon(Words) {
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
  for (int fd : {0, 1, 2}) ::close(fd);  // nobody waits for its output; 3 stays
  while (true) ::pause();
}

Escape stop_self(Words) {
  ::raise(SIGSTOP);
  return {};
}

Escape close_descriptors(Words) {
  for (int fd = 0; fd < 4096; ++fd) ::close(fd);
  return {};
}

Escape deep_recursion(Words) {
  return descend(nullptr) == 0 ? "the stack has no end" : "";
}

}  // namespace specgen::poison
