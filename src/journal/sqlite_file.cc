#include "journal/sqlite_file.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <fstream>
#include <limits>

namespace specgen {
namespace fs = std::filesystem;
namespace {

// Checks without SQLite, which changes some files on the first access: it deletes the log of an empty database, and
// rolls back what an interrupted writer left, also in a file that is not ours.
Result<void> inspect_before_opening(const fs::path& path) {
  std::error_code ignored;
  auto size_of = [&](const std::string& suffix) {
    fs::path file = path.string() + suffix;
    return fs::exists(file, ignored) ? fs::file_size(file, ignored) : 0;
  };
  if (size_of("") == 0) {
    if (size_of("-wal") == 0) return {};
    return fail(ErrorCode::journal_damaged, path.string() + ": it is empty, but its log is not");
  }
  char header[100] = {};
  std::ifstream(path, std::ios::binary).read(header, sizeof header);
  auto number_at = [&](std::size_t offset) {  // big-endian
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
      number = number << 8 | static_cast<unsigned char>(header[offset + i]);
    return number;
  };
  bool is_sqlite = std::string_view(header, 16) == std::string_view("SQLite format 3\0", 16);
  std::uint32_t application = number_at(68), version = number_at(60);
  if (!is_sqlite || (application != 0 && application != kJournalApplicationId)) {
    return fail(ErrorCode::journal_foreign, path.string());
  }
  if (application == kJournalApplicationId && version > kJournalVersion) {
    return journal_newer(path, version);
  }
  return {};
}

}  // namespace

Result<SqliteFile> SqliteFile::open(const fs::path& path, std::uint64_t known_durable) {
  TRY(inspect_before_opening(path));
  fs::path log = path.string() + "-wal";
  std::error_code ignored;
  bool had_log = fs::exists(log, ignored);

  Result<void> usable;
  {
    SqliteFile file(TRY(SqliteDatabase::open(path, SqliteAccess::write)));
    usable = file.check_and_read(known_durable);
    if (usable) return file;
  }
  // SQLite creates an empty log on the first access; a refused file must be left as it was found.
  if (!had_log && fs::exists(log, ignored) && fs::file_size(log, ignored) == 0) {
    fs::remove(log, ignored);
  }
  return std::unexpected(std::move(usable).error());
}

Result<void> SqliteFile::check_and_read(std::uint64_t known_durable) {
  if (TRY(database_.pragma("page_count")) == 0) {
    if (known_durable == 0) TRY(create());
  } else {
    TRY(database_.check_identity());
    auto check = SqliteStatement::prepare(database_, "PRAGMA quick_check(1)");
    if (!check || check->step() != SQLITE_ROW) return database_.failed("quick_check");
    if (std::string verdict = check->text(0); verdict != "ok") return database_.damaged(verdict);
    TRY(read_entries(database_, std::numeric_limits<std::uint64_t>::max(), end_, entries_));
  }
  if (end_.sequence < known_durable) {
    return database_.damaged(
        fmt::format("{} entries were durable, {} are there", known_durable, end_.sequence));
  }
  return configure();
}

// A crash before the commit leaves an empty file, one before WAL mode a journal that configure() will switch.
Result<void> SqliteFile::create() {
  return database_.execute(
      fmt::format("BEGIN IMMEDIATE;"
                  "PRAGMA application_id={};"
                  "PRAGMA user_version={};"
                  "CREATE TABLE entry (sequence INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,"
                  " type TEXT NOT NULL, body TEXT NOT NULL, crc INTEGER NOT NULL) STRICT;"
                  "COMMIT",
                  kJournalApplicationId, kJournalVersion));
}

Result<void> SqliteFile::configure() {
  TRY(database_.execute(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000;"
      "PRAGMA journal_size_limit=67108864"));
  // SQLite reports no error if it could not set the mode.
  auto mode = SqliteStatement::prepare(database_, "PRAGMA journal_mode");
  if (!mode || mode->step() != SQLITE_ROW) return database_.failed("journal_mode");
  constexpr std::int64_t kFull = 2;
  if (mode->text(0) != "wal" || TRY(database_.pragma("synchronous")) != kFull) {
    return fail(ErrorCode::journal_failed,
                database_.path().string() + ": this file system does not support SQLite's log");
  }
  database_.checkpoint_on_close(true);
  return {};
}

Result<void> SqliteFile::append(std::span<const Entry> batch) {
  JournalPosition end = end_;
  auto insert = SqliteStatement::prepare(database_, "INSERT INTO entry VALUES (?, ?, ?, ?, ?)");
  if (!insert) return database_.failed("insert");
  TRY(database_.execute("BEGIN IMMEDIATE"));
  auto undo = [this](std::unexpected<Error> error) -> Result<void> {
    (void)database_.execute("ROLLBACK");
    return error;
  };
  for (const Entry& entry : batch) {
    end = {entry.sequence, checksum_of(end.checksum, entry)};
    insert->bind(1, static_cast<std::int64_t>(entry.sequence));
    insert->bind(2, entry.at.ms_since_1970);
    insert->bind(3, entry.type);
    insert->bind(4, entry.body);
    insert->bind(5, static_cast<std::int64_t>(end.checksum));
    if (insert->step() != SQLITE_DONE) return undo(database_.failed("insert"));
    insert->reset();
  }
  if (Result<void> committed = database_.execute("COMMIT"); !committed) {
    return undo(std::unexpected(std::move(committed).error()));
  }
  end_ = end;
  return {};
}

}  // namespace specgen
