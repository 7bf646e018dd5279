#pragma once
// Reads a run's journal from any process, also while another one is writing it. One reader serves reports, lists of
// runs and displays that follow a run.
//
//   JournalReader reader = TRY(JournalReader::open("specgen-runs/a"));
//   while (true) {
//     JournalReader::Update update = TRY(reader.poll());
//     for (const Entry& entry : update.entries) TRY(state.apply(entry));
//     if (!update.is_running) break;
//     ... wait a while
//   }
//
// It takes no lock and opens every file read-only, so it cannot disturb the writer or be blocked by it. Without a lock
// a read may see pages of two different moments. Every row is therefore verified (number and chained checksum), and a
// read that does not verify is repeated from the last row that did. While a writer is running, entries appear once the
// writer has recorded them as durable. A poll without new entries reads one small file; any other opens the database
// and reads its log, some milliseconds. Blocks; one thread at a time. Not for the process that is writing: closing the
// database's file would drop that process's own locks on it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "journal/sqlite_database.h"
#include "journal/storage.h"

namespace specgen {

class JournalReader {
 public:
  // `first`: number of the first entry wanted. no_run if the folder has no journal.
  static Result<JournalReader> open(std::filesystem::path folder, std::uint64_t first = 1);

  struct Update {
    std::vector<Entry> entries = {};  // since the last poll, in order and without gaps
    bool is_running = false;  // a process is writing; if not, there are no entries after these
  };
  Result<Update> poll();

  // Content of an artifact that an entry names.
  Result<std::string> artifact(const ArtifactId& id) const;

 private:
  JournalReader(std::filesystem::path folder, std::uint64_t first)
      : folder_(std::move(folder)), first_(first) {}
  Result<void> read(std::uint64_t last, std::vector<Entry>& entries);

  std::filesystem::path folder_;
  std::uint64_t first_;
  std::optional<JournalPosition>
      position_;  // none until the row before the first wanted one is known
};

}  // namespace specgen
