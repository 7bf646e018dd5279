#include "journal/run_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/hash.h"
#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLockFile = "journal.lock";

// An "open file description" lock: unlike flock() it can be queried without being taken.
struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

WriterLock::Seen parse(std::string_view content) {
  std::string_view text = trim(content);
  std::string_view owner = text.substr(0, text.find(' '));
  std::string_view durable = trim(text.substr(owner.size()));
  WriterLock::Seen seen{.owner = std::string(owner)};
  std::from_chars(durable.data(), durable.data() + durable.size(), seen.durable);
  return seen;
}

}  // namespace

Result<WriterLock> WriterLock::take(const fs::path& folder) {
  fs::path path = folder / kLockFile;
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return fail_errno(path.string(), errno);
  Seen before = parse(TRY(read_file(path)));
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno(path.string(), errno);
    return fail(ErrorCode::journal_locked,
                fmt::format("{} is held by process {}", folder.string(), before.owner));
  }
  WriterLock taken(std::move(fd), before.durable);
  TRY(taken.record_durable(before.durable));
  return taken;
}

Result<void> WriterLock::record_durable(std::uint64_t count) {
  // Always of the same length, so that it replaces what was there.
  std::string text = fmt::format("{:<10} {:<20}\n", ::getpid(), count);
  if (::pwrite(fd_.get(), text.data(), text.size(), 0) < 0) return fail_errno(kLockFile, errno);
  return {};
}

Result<WriterLock::Seen> WriterLock::inspect(const fs::path& folder) {
  fs::path path = folder / kLockFile;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return Seen{};
    return fail_errno(path.string(), errno);
  }
  struct flock lock = whole_file(F_RDLCK);
  if (::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0) return fail_errno(path.string(), errno);
  Seen seen = parse(TRY(read_file(path)));
  seen.is_held = lock.l_type != F_UNLCK;
  return seen;
}

fs::path artifact_path(const fs::path& folder, const ArtifactId& id) {
  return folder / "artifacts" / id.sha256.substr(0, 2) / id.sha256;
}

Result<std::string> read_artifact(const fs::path& folder, const ArtifactId& id) {
  fs::path path = artifact_path(folder, id);
  std::string bytes = TRY(read_file(path, kMaxArtifact));
  if (sha256_hex(bytes) != id.sha256) return fail(ErrorCode::artifact_damaged, path.string());
  return bytes;
}

}  // namespace specgen
