#include "evaluate/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace specgen {
namespace {

// As linux/landlock.h has them by now; the headers that we compile with may be older.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;  // since version 4
  std::uint64_t scoped;   // since version 6
};
struct __attribute__((packed)) PathRule {
  std::uint64_t allowed;
  std::int32_t parent;
};

constexpr std::uint64_t kExecute = 1 << 0;
constexpr std::uint64_t kWriteFile = 1 << 1;
constexpr std::uint64_t kReadFile = 1 << 2;
constexpr std::uint64_t kReadFolder = 1 << 3;
constexpr std::uint64_t kTruncate = 1 << 14;
constexpr std::uint64_t kControlDevice = 1 << 15;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice;
constexpr std::uint64_t kReadOnly = kExecute | kReadFile | kReadFolder;
constexpr std::uint64_t kDevice = kWriteFile | kReadFile | kReadFolder | kTruncate | kControlDevice;
constexpr std::uint64_t kBindAndConnect = 3;
constexpr std::uint64_t kAbstractSocketsAndSignals = 3;

std::uint64_t known_to(long version) {
  constexpr std::uint64_t kFirst = (1 << 13) - 1;
  std::uint64_t known = kFirst;
  if (version >= 2) known |= 1 << 13;  // to move between folders
  if (version >= 3) known |= kTruncate;
  if (version >= 5) known |= kControlDevice;
  return known;
}

Result<void> allow(const Fd& fence, const std::string& path, std::uint64_t rights) {
  Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place && errno == ENOENT) return {};
  struct stat about{};
  if (!place || ::fstat(place.get(), &about) != 0) return fail_errno(path, errno);
  if (!S_ISDIR(about.st_mode)) rights &= kOfFiles;
  PathRule rule{.allowed = rights, .parent = place.get()};
  constexpr int kPathBeneath = 1;
  if (::syscall(SYS_landlock_add_rule, fence.get(), kPathBeneath, &rule, 0) != 0) {
    return fail_errno("landlock: " + path, errno);
  }
  return {};
}

}  // namespace

Result<Fd> make_fence(const LandlockView& view) {
  constexpr unsigned kAskVersion = 1;
  long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (version < 1) return fail_errno("landlock", errno);
  std::uint64_t known = known_to(version);
  Ruleset ruleset{.files = known,
                  .network = version >= 4 ? kBindAndConnect : 0,
                  .scoped = version >= 6 ? kAbstractSocketsAndSignals : 0};
  Fd fence(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0)));
  if (!fence) return fail_errno("landlock", errno);
  for (const std::string& path : view.read_only) TRY(allow(fence, path, kReadOnly & known));
  for (const std::string& path : view.writable) {
    TRY(allow(fence, path, known & ~kControlDevice));
  }
  for (const std::string& path : view.devices) TRY(allow(fence, path, kDevice & known));
  return fence;
}

Result<void> close_fence(const Fd& fence) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("no_new_privs", errno);
  if (::syscall(SYS_landlock_restrict_self, fence.get(), 0) != 0) {
    return fail_errno("landlock", errno);
  }
  return {};
}

}  // namespace specgen
