#pragma once
// A connection to the journal's SQLite database, and how its rows are read and checked. Private to this module: the
// writer (sqlite_file.h) and the reader (journal_reader.h) share it. Blocks; one thread at a time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "journal/storage.h"

struct sqlite3;
struct sqlite3_stmt;

namespace specgen {

std::unexpected<Error> journal_newer(const std::filesystem::path& path, std::int64_t version);

enum class SqliteAccess : std::uint8_t {
  write,             // creates the file if it is missing
  read,              // takes no lock and opens every file read-only; the log is read too
  read_without_log,  // the same for a database that has no log file
};

class SqliteDatabase {
 public:
  static Result<SqliteDatabase> open(std::filesystem::path path, SqliteAccess access);

  Result<void> execute(const std::string& sql);
  Result<std::int64_t> pragma(std::string_view name);
  // journal_foreign, journal_newer or journal_damaged if this is not a journal that this program can read.
  Result<void> check_identity();
  // Closing copies the log back into the file, or leaves it as it is.
  void checkpoint_on_close(bool enabled);

  // The last error of this connection.
  std::unexpected<Error> failed(std::string_view doing) const;
  std::unexpected<Error> damaged(std::string_view why) const;
  const std::filesystem::path& path() const { return path_; }
  sqlite3* get() const { return raw_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* raw) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> raw_;
};

class SqliteStatement {
 public:
  static Result<SqliteStatement> prepare(const SqliteDatabase& database, const std::string& sql);
  int step();  // SQLITE_ROW, SQLITE_DONE or an error
  void reset();
  void bind(int column, std::int64_t value);
  void bind(int column, const std::string& text);  // not copied: must outlive reset()
  std::int64_t integer(int column);
  std::string text(int column);

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* raw) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> raw_;
  bool bound_ = true;  // a value that could not be bound must not be stored as NULL
};

// Checksums are chained: a row that was changed, moved or removed from the middle breaks every checksum after it.
std::uint32_t checksum_of(std::uint32_t previous, const Entry& entry);

// The end of the entries that were read and verified.
struct JournalPosition {
  std::uint64_t sequence = 0;  // of the last one
  std::uint32_t checksum = 0;  // of that row
};
// Appends the rows after `position`, up to number `last`, to `entries` and advances `position`. Rows that were verified
// before an error stay in both.
Result<void> read_entries(SqliteDatabase& database, std::uint64_t last, JournalPosition& position,
                          std::vector<Entry>& entries);
// Row `sequence` as a position to continue from; its own checksum cannot be verified without those before it.
Result<JournalPosition> position_at(SqliteDatabase& database, std::uint64_t sequence);

}  // namespace specgen
