#include "journal/sqlite_storage.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>

#include "base/assert.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "journal/sqlite_file.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Bytes kLargestArtifact = GiB(1);

// journal.lock: held by flock() while its process lives. It says who that is, and how many entries it knows to be
// durable. The second is never synced and so only a lower bound, but one that shows a journal that lost its end.
class FolderLock {
 public:
  static Result<FolderLock> take(const fs::path& folder) {
    fs::path path = folder / "journal.lock";
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd) return fail_errno(path.string(), errno);
    std::string content = TRY(read_file(path));
    std::string_view text = trim(content);
    std::string_view owner = text.substr(0, text.find(' '));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return fail(ErrorCode::journal_locked,
                  fmt::format("{} is held by process {}", folder.string(), owner));
    }
    FolderLock lock(std::move(fd));
    std::string_view durable = trim(text.substr(owner.size()));
    std::from_chars(durable.data(), durable.data() + durable.size(), lock.durable_before_);
    TRY(lock.write_down(lock.durable_before_));
    return lock;
  }

  std::uint64_t durable_before() const { return durable_before_; }
  Result<void> write_down(std::uint64_t durable) {
    std::string text = fmt::format("{:<10} {:<20}\n", ::getpid(),
                                   durable);  // one length, so that nothing old is left
    if (::pwrite(fd_.get(), text.data(), text.size(), 0) < 0)
      return fail_errno("journal.lock", errno);
    return {};
  }

 private:
  explicit FolderLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  std::uint64_t durable_before_ = 0;
};

// Makes it and what leads to it. Synced even where it was there: a run that was killed may not have come so far.
Result<void> make_folder(const fs::path& folder) {
  fs::path parent = folder.parent_path();
  std::error_code error;
  if (!parent.empty() && !fs::exists(parent, error)) TRY(make_folder(parent));
  fs::create_directory(folder, error);
  if (error) return fail_errno(folder.string(), error.value());
  return sync_folder(parent);
}

}  // namespace

class SqliteStorage::RunFolder {
 public:
  static Result<std::shared_ptr<RunFolder>> open(const fs::path& path) {
    TRY(make_folder(path));
    FolderLock lock = TRY(FolderLock::take(path));
    SqliteFile file = TRY(SqliteFile::open(path / "journal.db", lock.durable_before()));
    TRY(sync_folder(path));
    return std::make_shared<RunFolder>(path, std::move(lock), std::move(file));
  }
  RunFolder(fs::path path, FolderLock lock, SqliteFile file)
      : path_(std::move(path)), lock_(std::move(lock)), file_(std::move(file)) {}

  std::vector<Entry> take_entries() { return file_->take_entries(); }

  Result<void> append(const std::vector<Entry>& batch) {
    SG_ASSERT(file_, "something is committed after close()");
    TRY(file_->append(batch));
    // The batch is durable: that its number could not be noted is no reason to say otherwise.
    (void)lock_->write_down(batch.back().sequence);
    return {};
  }

  Result<ArtifactId> put(std::string_view bytes) {
    ArtifactId id{sha256_hex(bytes)};
    fs::path path = path_of(id);
    TRY(make_folder(path_ / "artifacts"));
    TRY(make_folder(path.parent_path()));
    // One that is there may have been renamed by a run that was killed before it synced.
    if (auto present = read_file(path, kLargestArtifact); present && *present == bytes) {
      TRY(sync_folder(path.parent_path()));
    } else {
      TRY(write_file_durably(path, bytes));
    }
    return id;
  }

  Result<void> write_file(const fs::path& name, std::string_view bytes) {
    fs::path path = path_ / name;
    TRY(make_folder(path.parent_path()));
    return write_file_durably(path, bytes);
  }

  Result<std::string> get(const ArtifactId& id) {
    std::string bytes = TRY(read_file(path_of(id), kLargestArtifact));
    if (sha256_hex(bytes) != id.sha256)
      return fail(ErrorCode::artifact_damaged, path_of(id).string());
    return bytes;
  }

  Result<void> close() {
    file_.reset();
    lock_.reset();
    return {};
  }

 private:
  // artifacts/3f/3f9a...: a folder of a hundred thousand files is slow to list and to sync.
  fs::path path_of(const ArtifactId& id) const {
    return path_ / "artifacts" / id.sha256.substr(0, 2) / id.sha256;
  }

  const fs::path path_;
  std::optional<FolderLock> lock_;
  std::optional<SqliteFile> file_;
};

SqliteStorage::SqliteStorage(Loop& loop, RealDriver& driver)
    : journal_worker_(loop, driver), artifact_worker_(loop, driver) {}
SqliteStorage::~SqliteStorage() = default;

Task<Result<std::unique_ptr<SqliteStorage>>> SqliteStorage::open(Loop& loop, RealDriver& driver,
                                                                 fs::path folder) {
  std::unique_ptr<SqliteStorage> storage(new SqliteStorage(loop, driver));
  storage->folder_ =
      CO_TRY(co_await storage->journal_worker_.run([folder] { return RunFolder::open(folder); }));
  co_return storage;
}

Task<Result<std::vector<Entry>>> SqliteStorage::load() {
  co_return folder_->take_entries();
}

Task<Result<void>> SqliteStorage::commit(std::vector<Entry> batch) {
  return journal_worker_.run(
      [folder = folder_, batch = std::move(batch)] { return folder->append(batch); });
}

Task<Result<ArtifactId>> SqliteStorage::put(std::string bytes) {
  return artifact_worker_.run(
      [folder = folder_, bytes = std::move(bytes)] { return folder->put(bytes); });
}

Task<Result<std::string>> SqliteStorage::get(ArtifactId id) {
  return artifact_worker_.run([folder = folder_, id = std::move(id)] { return folder->get(id); });
}

Task<Result<void>> SqliteStorage::write_file(fs::path name, std::string bytes) {
  return artifact_worker_.run([folder = folder_, name = std::move(name), bytes = std::move(bytes)] {
    return folder->write_file(name, bytes);
  });
}

Task<Result<void>> SqliteStorage::close() {
  return journal_worker_.run([folder = folder_] { return folder->close(); });
}

}  // namespace specgen
