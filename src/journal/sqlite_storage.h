#pragma once
// A run folder on a real disk, open for writing: journal.db, artifacts/, and a lock that admits one process. SQLite,
// hashing and fsync run on two threads, so that the loop never waits for a disk: one for the journal and one for
// artifacts, so that a verdict does not queue behind a large file. Other processes read with JournalReader.

#include <filesystem>
#include <memory>

#include "journal/storage.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/worker_thread.h"

namespace specgen {

class SqliteStorage final : public Storage {
 public:
  // Creates the folder if it is missing. A second process is refused (journal_locked), with the first one's number.
  static Task<Result<std::unique_ptr<SqliteStorage>>> open(Loop& loop, RealDriver& driver,
                                                           std::filesystem::path folder);
  ~SqliteStorage() override;  // waits for jobs that were submitted; none are left after close()

  Task<Result<std::vector<Entry>>> load() override;
  Task<Result<void>> commit(std::vector<Entry> batch) override;
  Task<Result<ArtifactId>> put(std::string bytes) override;
  Task<Result<std::string>> get(ArtifactId id) override;

  // Writes a file for people beside the journal ("best/softmax.cc"), on the artifact thread. Atomic, and durable on
  // return. Of two writes to the same name the one submitted later wins.
  Task<Result<void>> write_file(std::filesystem::path name, std::string bytes);

  // Copies the log back into the file and releases the lock. No other call may follow.
  Task<Result<void>> close();

 private:
  class Files;  // used only by the workers once it is open
  SqliteStorage(Loop& loop, RealDriver& driver);

  std::shared_ptr<Files> files_;
  WorkerThread journal_worker_;  // last: destroyed first, after their last job
  WorkerThread artifact_worker_;
};

}  // namespace specgen
