#pragma once
// The journal's file, open for writing: one SQLite database in WAL mode, synchronous=FULL, one table. Blocks; owned by
// the journal's thread inside SqliteStorage. docs/reference/journal.md describes the format.
//
// Opening checks everything before it writes anything: a file that is damaged, foreign or newer is refused and left as
// it was, byte for byte.

#include <filesystem>
#include <span>
#include <vector>

#include "base/error.h"
#include "journal/sqlite_database.h"
#include "journal/storage.h"

namespace specgen {

inline constexpr int kJournalVersion = 1;
inline constexpr int kJournalApplicationId = 0x5350474a;  // "SPGJ", at offset 68 of the file

class SqliteFile {
 public:
  // Creates the file if it is missing. A file with fewer than `known_durable` entries is refused as damaged: SQLite
  // cannot detect a log that lost its end.
  static Result<SqliteFile> open(const std::filesystem::path& path,
                                 std::uint64_t known_durable = 0);

  std::vector<Entry> take_entries() { return std::move(entries_); }  // those that opening read
  std::uint64_t last_sequence() const { return end_.sequence; }
  Result<void> append(std::span<const Entry> batch);  // one transaction

 private:
  explicit SqliteFile(SqliteDatabase database) : database_(std::move(database)) {}
  Result<void> check_and_read(std::uint64_t known_durable);
  Result<void> create();
  Result<void> configure();

  SqliteDatabase database_;
  std::vector<Entry> entries_;
  JournalPosition end_;
};

}  // namespace specgen
