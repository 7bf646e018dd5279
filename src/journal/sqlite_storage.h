#pragma once
// A run folder on a real disk: journal.db, artifacts/, and a lock that lets one process in. SQLite
// and fsync run on a thread of their own, so that the loop never waits for a disk.

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "journal/sqlite_file.h"
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
  ~SqliteStorage() override;

  Task<Result<std::vector<Entry>>> load() override;
  Task<Result<void>> commit(std::vector<Entry> batch) override;
  Task<Result<void>> put(std::string name, std::string bytes) override;
  Task<Result<std::string>> get(std::string name) override;

 private:
  struct OnDisk;  // used by the worker alone once it is open
  SqliteStorage(Loop& loop, RealDriver& driver);

  std::shared_ptr<OnDisk> disk_;
  WorkerThread worker_;  // last: it ends first, and with it the last job
};

}  // namespace specgen
