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

// As in the current linux/landlock.h; the headers that we compile with may be older.
struct RulesetAttributes {
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
  if (version >= 2) known |= 1 << 13;  // moving files between folders
  if (version >= 3) known |= kTruncate;
  if (version >= 5) known |= kControlDevice;
  return known;
}

Result<void> allow(const Fd& ruleset, const std::string& path, std::uint64_t rights) {
  Fd target(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!target && errno == ENOENT) return {};
  struct stat about{};
  if (!target || ::fstat(target.get(), &about) != 0) return fail_errno(path, errno);
  if (!S_ISDIR(about.st_mode)) rights &= kOfFiles;
  PathRule rule{.allowed = rights, .parent = target.get()};
  constexpr int kPathBeneath = 1;
  if (::syscall(SYS_landlock_add_rule, ruleset.get(), kPathBeneath, &rule, 0) != 0) {
    return fail_errno("landlock: " + path, errno);
  }
  return {};
}

}  // namespace

Result<Fd> make_landlock_ruleset(const LandlockView& view) {
  constexpr unsigned kQueryVersion = 1;
  long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kQueryVersion);
  if (version < 1) return fail_errno("landlock", errno);
  std::uint64_t known = known_to(version);
  RulesetAttributes attributes{.files = known,
                               .network = version >= 4 ? kBindAndConnect : 0,
                               .scoped = version >= 6 ? kAbstractSocketsAndSignals : 0};
  Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset) return fail_errno("landlock", errno);
  for (const std::string& path : view.read_only) TRY(allow(ruleset, path, kReadOnly & known));
  for (const std::string& path : view.writable) {
    TRY(allow(ruleset, path, known & ~kControlDevice));
  }
  for (const std::string& path : view.devices) TRY(allow(ruleset, path, kDevice & known));
  return ruleset;
}

Result<void> enforce_landlock(const Fd& ruleset) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("no_new_privs", errno);
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return fail_errno("landlock", errno);
  }
  return {};
}

}  // namespace specgen
