#include "evaluate/sandbox/sandbox_identity.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/sandbox/control_group.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kFirstUid = 0x70000000;
constexpr std::uint32_t kMaxPids = 1U << 22;
constexpr std::uint32_t kSlots = 64;
constexpr std::uint32_t kFirstSmallUid = 60000;
constexpr std::uint32_t kSmallUids = 5000;
constexpr std::string_view kFolderPrefix = "specgen-sandbox";

// The loop's thread alone.
std::uint64_t g_taken = 0;  // a bit for each slot
int g_sharing = 0;          // sandboxes that found none free

bool large_uids_exist() {
  static const bool exist = [] {
    auto map = read_file("/proc/self/uid_map");
    return map && is_mapped(*map, kFirstUid) &&
           is_mapped(*map, kFirstUid + (kMaxPids - 1) * kSlots + kSlots - 1);
  }();
  return exist;
}

bool belongs_to_us(const struct stat& about) {
  return S_ISDIR(about.st_mode) &&
         (about.st_uid == ::geteuid() || about.st_uid >= kFirstUid ||
          (about.st_uid >= kFirstSmallUid && about.st_uid < kFirstSmallUid + kSmallUids));
}

}  // namespace

SandboxUid SandboxUid::take() {
  static std::uint32_t shared = 0;
  int free = std::countr_one(g_taken);
  auto slot = static_cast<std::uint32_t>(free);
  if (slot < kSlots) {
    g_taken |= std::uint64_t{1} << slot;
  } else {
    slot = shared++ % kSlots;  // more sandboxes at a time than uids: two of ours share one
    free = -1;
    ++g_sharing;
  }
  std::uint32_t number = (static_cast<std::uint32_t>(::getpid()) % kMaxPids) * kSlots + slot;
  return {free, large_uids_exist() ? kFirstUid + number : kFirstSmallUid + number % kSmallUids};
}

SandboxUid::SandboxUid(SandboxUid&& other) noexcept
    : slot_(other.slot_), value_(std::exchange(other.value_, 0)) {}

SandboxUid::~SandboxUid() {
  if (value_ == 0) return;  // moved away
  if (slot_ < 0) --g_sharing;
  if (slot_ >= 0) g_taken &= ~(std::uint64_t{1} << slot_);
}

void SandboxUid::kill_all() const {
  // By uid only if nobody else has it.
  if (slot_ < 0 || g_sharing > 0 || !large_uids_exist()) return;
  // A child that becomes that uid and kills all that it may: the kernel does that in one step,
  // which nobody can fork away from. Until then it may itself be killed by those it is after.
  constexpr int kMaxTries = 20;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    pid_t child = ::fork();
    if (child < 0) return;
    if (child == 0) {
      bool changed = ::syscall(SYS_setresuid, value_, value_, value_) == 0;
      if (changed) ::kill(-1, SIGKILL);
      ::_exit(0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) return;
  }
}

bool is_mapped(std::string_view uid_map, std::uint32_t uid) {
  for (std::string_view line : split(uid_map, '\n')) {
    std::vector<std::uint64_t> numbers;
    for (std::string_view word : split(line, ' ')) {
      std::uint64_t number = 0;
      if (word.empty()) continue;
      auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error == std::errc() && end == word.data() + word.size()) numbers.push_back(number);
    }
    if (numbers.size() == 3 && uid >= numbers[0] && uid - numbers[0] < numbers[2]) return true;
  }
  return false;
}

Result<PrivateFolder> PrivateFolder::make(std::uint32_t owner) {
  static std::uint64_t count = 0;
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) return fail(ErrorCode::system_call, "no folder for temporary files");
  // A name that somebody has taken on purpose is passed over.
  constexpr int kMaxTries = 100;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    fs::path path = parent / fmt::format("{}-{}-{}", kFolderPrefix, ::getpid(), ++count);
    if (::mkdir(path.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return fail_errno(path.string(), errno);
    }
    PrivateFolder made(path);
    if (owner != 0 && ::lchown(path.c_str(), owner, owner) != 0) {
      return fail_errno(path.string(), errno);
    }
    return made;
  }
  return fail(ErrorCode::system_call, "every name for a private folder is taken");
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void remove_folders_of_the_dead() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) return;
  std::vector<fs::path> orphans;
  fs::directory_iterator entries(parent, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    auto maker = maker_in_name(entries->path().filename().string(), kFolderPrefix);
    struct stat about{};
    if (!maker || !is_dead(*maker) || ::lstat(entries->path().c_str(), &about) != 0) continue;
    if (belongs_to_us(about)) orphans.push_back(entries->path());
  }
  for (const fs::path& folder : orphans) fs::remove_all(folder, error);
}

}  // namespace specgen
