#include "journal/sqlite_storage.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Bytes kLargestArtifact = GiB(1);

// Held while the descriptor is open, also across kill -9.
Result<Fd> lock_folder(const fs::path& folder) {
  fs::path path = folder / "journal.lock";
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock) return fail_errno(path.string(), errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    std::string owner = read_file(path).value_or("");
    return fail(ErrorCode::journal_locked,
                fmt::format("{} is held by process {}", folder.string(), trim(owner)));
  }
  std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0) {
    return fail_errno(path.string(), errno);
  }
  return lock;
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  bool made = fs::create_directories(folder, error);
  if (error) return fail_errno(folder.string(), error.value());
  return made ? sync_folder(folder.parent_path()) : Result<void>();
}

}  // namespace

struct SqliteStorage::OnDisk {
  fs::path folder;
  Fd lock;
  SqliteFile file;

  static Result<std::shared_ptr<OnDisk>> open(const fs::path& folder) {
    TRY(make_folder(folder));
    Fd lock = TRY(lock_folder(folder));
    SqliteFile file = TRY(SqliteFile::open(folder / "journal.db"));
    TRY(sync_folder(folder));
    return std::make_shared<OnDisk>(folder, std::move(lock), std::move(file));
  }

  // artifacts/3f/3f9a...: a folder of a hundred thousand files is slow to list and to sync.
  fs::path path_of(std::string_view name) const {
    return folder / "artifacts" / name.substr(0, 2) / name;
  }

  Result<void> put(std::string_view name, std::string_view bytes) {
    fs::path path = path_of(name);
    if (auto present = read_file(path, kLargestArtifact); present && *present == bytes) return {};
    TRY(make_folder(folder / "artifacts"));
    TRY(make_folder(path.parent_path()));
    return write_file_durably(path, bytes);
  }
};

SqliteStorage::SqliteStorage(Loop& loop, RealDriver& driver) : worker_(loop, driver) {}
SqliteStorage::~SqliteStorage() = default;

Task<Result<std::unique_ptr<SqliteStorage>>> SqliteStorage::open(Loop& loop, RealDriver& driver,
                                                                 fs::path folder) {
  std::unique_ptr<SqliteStorage> storage(new SqliteStorage(loop, driver));
  storage->disk_ = CO_TRY(co_await storage->worker_.run([folder] { return OnDisk::open(folder); }));
  co_return storage;
}

Task<Result<std::vector<Entry>>> SqliteStorage::load() {
  co_return disk_->file.take_entries();
}

Task<Result<void>> SqliteStorage::commit(std::vector<Entry> batch) {
  return worker_.run([disk = disk_, batch = std::move(batch)] { return disk->file.append(batch); });
}

Task<Result<void>> SqliteStorage::put(std::string name, std::string bytes) {
  return worker_.run([disk = disk_, name = std::move(name), bytes = std::move(bytes)] {
    return disk->put(name, bytes);
  });
}

Task<Result<std::string>> SqliteStorage::get(std::string name) {
  return worker_.run([disk = disk_, name = std::move(name)] {
    return read_file(disk->path_of(name), kLargestArtifact);
  });
}

}  // namespace specgen
