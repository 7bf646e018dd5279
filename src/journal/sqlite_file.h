#pragma once
// The journal's file: one SQLite database in WAL mode, synchronous=FULL, one table. Blocks; lives
// on a thread of its own inside SqliteStorage. docs/journal.md describes the format.
//
// Opening checks everything before anything is written: a file that is damaged, foreign or newer is
// refused and left as it was, byte for byte.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "journal/storage.h"

struct sqlite3;

namespace specgen {

inline constexpr int kJournalVersion = 1;
inline constexpr int kJournalApplicationId = 0x5350474a;  // "SPGJ", at offset 68 of the file

class SqliteFile {
 public:
  // Creates the file if it is not there. One with fewer entries than are known to have been durable is damaged: a
  // log that lost its end looks whole to SQLite.
  static Result<SqliteFile> open(const std::filesystem::path& path,
                                 std::uint64_t known_durable = 0);
  SqliteFile(SqliteFile&&) noexcept;
  SqliteFile& operator=(SqliteFile&&) noexcept;
  ~SqliteFile();

  std::vector<Entry> take_entries() { return std::move(entries_); }  // what opening read
  Result<void> append(std::span<const Entry> batch);                 // one transaction

 private:
  explicit SqliteFile(std::filesystem::path path);
  Result<void> look_before_opening() const;
  Result<void> check_and_read(std::uint64_t known_durable);
  Result<void> create();
  Result<void> configure();
  Result<void> execute(const char* sql);
  Result<std::int64_t> pragma(const char* name);
  std::unexpected<Error> failed(std::string_view doing) const;
  std::unexpected<Error> newer(std::int64_t version) const;

  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
  std::vector<Entry> entries_;
  std::uint32_t last_crc_ = 0;
};

}  // namespace specgen
