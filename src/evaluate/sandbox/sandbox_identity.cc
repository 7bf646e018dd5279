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

// Used by the loop's thread only.
std::uint64_t g_taken = 0;  // one bit per slot
int g_sharing = 0;          // sandboxes that share a uid

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
    slot = shared++ % kSlots;  // more sandboxes than uids: two of ours share one
    free = -1;
    ++g_sharing;
  }
  std::uint32_t number = (static_cast<std::uint32_t>(::getpid()) % kMaxPids) * kSlots + slot;
  return {free, large_uids_exist() ? kFirstUid + number : kFirstSmallUid + number % kSmallUids};
}

SandboxUid::SandboxUid(SandboxUid&& other) noexcept
    : slot_(other.slot_), value_(std::exchange(other.value_, 0)) {}

SandboxUid::~SandboxUid() {
  if (value_ == 0) return;  // moved from
  if (slot_ < 0) --g_sharing;
  if (slot_ >= 0) g_taken &= ~(std::uint64_t{1} << slot_);
}

void SandboxUid::kill_all() const {
  // Only if no other sandbox has this uid.
  if (slot_ < 0 || g_sharing > 0 || !large_uids_exist()) return;
  // A child changes to that uid and kills all it can reach with one call, which no process can
  // escape by forking. Before the call, the processes it is about to kill may kill the child:
  // retry.
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
    for (std::string_view field : split(line, ' ')) {
      std::uint64_t number = 0;
      if (field.empty()) continue;
      auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
      if (error == std::errc() && end == field.data() + field.size()) numbers.push_back(number);
    }
    if (numbers.size() == 3 && uid >= numbers[0] && uid - numbers[0] < numbers[2]) return true;
  }
  return false;
}

Result<PrivateFolder> PrivateFolder::make(std::uint32_t owner) {
  static std::uint64_t count = 0;
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) return fail(ErrorCode::system_call, "there is no folder for temporary files");
  // Another user may have taken a name on purpose: try the next one.
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

void remove_folders_of_dead_processes() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) return;
  std::vector<fs::path> orphans;
  fs::directory_iterator entries(parent, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    auto creator = creator_from_name(entries->path().filename().string(), kFolderPrefix);
    struct stat about{};
    if (!creator || !is_dead(*creator) || ::lstat(entries->path().c_str(), &about) != 0) continue;
    if (belongs_to_us(about)) orphans.push_back(entries->path());
  }
  for (const fs::path& folder : orphans) fs::remove_all(folder, error);
}

}  // namespace specgen
