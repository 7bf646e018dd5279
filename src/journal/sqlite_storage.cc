#include "journal/sqlite_storage.h"

#include <optional>

#include "base/assert.h"
#include "base/file.h"
#include "base/hash.h"
#include "journal/run_files.h"
#include "journal/sqlite_file.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// With its parents. Synced even if it exists: a killed run may have created it and not synced.
Result<void> make_folder(const fs::path& folder) {
  fs::path parent = folder.parent_path();
  std::error_code error;
  if (!parent.empty() && !fs::exists(parent, error)) TRY(make_folder(parent));
  fs::create_directory(folder, error);
  if (error) return fail_errno(folder.string(), error.value());
  return sync_folder(parent);
}

}  // namespace

class SqliteStorage::Files {
 public:
  static Result<std::shared_ptr<Files>> open(const fs::path& path) {
    TRY(make_folder(path));
    WriterLock lock = TRY(WriterLock::take(path));
    SqliteFile file = TRY(SqliteFile::open(path / "journal.db", lock.durable_before()));
    TRY(sync_folder(path));
    TRY(lock.record_durable(file.last_sequence()));
    return std::make_shared<Files>(path, std::move(lock), std::move(file));
  }
  Files(fs::path path, WriterLock lock, SqliteFile file)
      : path_(std::move(path)), lock_(std::move(lock)), file_(std::move(file)) {}

  std::vector<Entry> take_entries() { return file_->take_entries(); }

  Result<void> append(const std::vector<Entry>& batch) {
    SG_ASSERT(file_, "commit() was called after close()");
    TRY(file_->append(batch));
    // The batch is durable even if its number could not be recorded.
    (void)lock_->record_durable(batch.back().sequence);
    return {};
  }

  Result<ArtifactId> put(std::string_view bytes) {
    ArtifactId id{sha256_hex(bytes)};
    fs::path path = artifact_path(path_, id);
    TRY(make_folder(path_ / "artifacts"));
    TRY(make_folder(path.parent_path()));
    // An existing one may have been renamed by a run that was killed before it synced the folder.
    if (auto present = read_file(path, kMaxArtifact); present && *present == bytes) {
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

  Result<std::string> get(const ArtifactId& id) { return read_artifact(path_, id); }

  Result<void> close() {
    file_.reset();
    lock_.reset();
    return {};
  }

 private:
  const fs::path path_;
  std::optional<WriterLock> lock_;
  std::optional<SqliteFile> file_;
};

SqliteStorage::SqliteStorage(Loop& loop, RealDriver& driver)
    : journal_worker_(loop, driver), artifact_worker_(loop, driver) {}
SqliteStorage::~SqliteStorage() = default;

Task<Result<std::unique_ptr<SqliteStorage>>> SqliteStorage::open(Loop& loop, RealDriver& driver,
                                                                 fs::path folder) {
  std::unique_ptr<SqliteStorage> storage(new SqliteStorage(loop, driver));
  storage->files_ =
      CO_TRY(co_await storage->journal_worker_.run([folder] { return Files::open(folder); }));
  co_return storage;
}

Task<Result<std::vector<Entry>>> SqliteStorage::load() {
  co_return files_->take_entries();
}

Task<Result<void>> SqliteStorage::commit(std::vector<Entry> batch) {
  return journal_worker_.run(
      [files = files_, batch = std::move(batch)] { return files->append(batch); });
}

Task<Result<ArtifactId>> SqliteStorage::put(std::string bytes) {
  return artifact_worker_.run(
      [files = files_, bytes = std::move(bytes)] { return files->put(bytes); });
}

Task<Result<std::string>> SqliteStorage::get(ArtifactId id) {
  return artifact_worker_.run([files = files_, id = std::move(id)] { return files->get(id); });
}

Task<Result<void>> SqliteStorage::write_file(fs::path name, std::string bytes) {
  return artifact_worker_.run([files = files_, name = std::move(name), bytes = std::move(bytes)] {
    return files->write_file(name, bytes);
  });
}

Task<Result<void>> SqliteStorage::close() {
  return journal_worker_.run([files = files_] { return files->close(); });
}

}  // namespace specgen
