#pragma once
// A run folder on a real disk: journal.db, artifacts/, and a lock that lets one process in. SQLite, hashing and
// fsync run on threads of their own, so that the loop never waits for a disk: one for the journal, one for
// artifacts, so that a verdict does not queue behind a large file.

#include <filesystem>
#include <memory>

#include "journal/storage.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/worker_thread.h"

namespace specgen {

class SqliteStorage final : public Storage {
 public:
  // Makes the folder if it is not there. A second process is refused with the first one's number.
  static Task<Result<std::unique_ptr<SqliteStorage>>> open(Loop& loop, RealDriver& driver,
                                                           std::filesystem::path folder);
  ~SqliteStorage() override;  // waits for the work that was given; after close() there is none

  Task<Result<std::vector<Entry>>> load() override;
  Task<Result<void>> commit(std::vector<Entry> batch) override;
  Task<Result<ArtifactId>> put(std::string bytes) override;
  Task<Result<std::string>> get(ArtifactId id) override;

  // A file for people beside the journal ("best/softmax.cc"), written by the thread of the artifacts: whole or not at
  // all, durable on return. Of two that were asked for, the later is the one that stays.
  Task<Result<void>> write_file(std::filesystem::path name, std::string bytes);

  // Folds the log back into the file and lets the folder go. Nothing may be asked afterwards.
  Task<Result<void>> close();

 private:
  class RunFolder;  // used by the workers alone once it is open
  SqliteStorage(Loop& loop, RealDriver& driver);

  std::shared_ptr<RunFolder> folder_;
  WorkerThread journal_worker_;  // last: they end first, and with them the last job
  WorkerThread artifact_worker_;
};

}  // namespace specgen
