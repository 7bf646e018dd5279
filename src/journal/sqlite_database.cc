#include "journal/sqlite_database.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cstring>
#include <limits>

#include "base/assert.h"
#include "base/hash.h"
#include "journal/sqlite_file.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// SQLite opens the log for writing, and creates it, even for a connection that only reads. Here every file is opened
// read-only, without locks: the base is "unix-none".
const char* read_only_vfs() {
  static sqlite3_vfs* const base = sqlite3_vfs_find("unix-none");
  static sqlite3_vfs vfs = [] {
    SG_ASSERT(base, "SQLite was built for Unix");
    sqlite3_vfs made = *base;
    made.zName = "specgen-read-only";
    made.pNext = nullptr;
    made.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
      constexpr int kWriting =
          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_DELETEONCLOSE;
      return base->xOpen(base, name, file, (flags & ~kWriting) | SQLITE_OPEN_READONLY, out_flags);
    };
    made.xDelete = [](sqlite3_vfs*, const char*, int) { return SQLITE_READONLY; };
    return made;
  }();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  SG_ASSERT(registered == SQLITE_OK, "SQLite refused a VFS");
  return vfs.zName;
}

std::string uri_of(const fs::path& path, std::string_view parameters) {
  std::string uri = "file:";
  for (char c : path.string()) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return fmt::format("{}?{}", uri, parameters);
}

}  // namespace

void SqliteDatabase::Close::operator()(sqlite3* raw) const {
  sqlite3_close_v2(raw);
}

Result<SqliteDatabase> SqliteDatabase::open(fs::path path, SqliteAccess access) {
  SqliteDatabase database;
  database.path_ = std::move(path);
  std::string name = database.path_.string();
  int flags = SQLITE_OPEN_NOMUTEX;
  if (access == SqliteAccess::write) {
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  } else {
    flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    name = uri_of(database.path_, access == SqliteAccess::read ? "mode=ro" : "immutable=1");
  }
  sqlite3* raw = nullptr;
  const char* vfs = access == SqliteAccess::write ? nullptr : read_only_vfs();
  int opened = sqlite3_open_v2(name.c_str(), &raw, flags, vfs);
  database.raw_.reset(raw);
  if (opened != SQLITE_OK) return database.failed("open");
  sqlite3_extended_result_codes(raw, 1);
  database.checkpoint_on_close(false);
  // Exclusive before the first access: the index of the log is then in our memory instead of a shared file.
  TRY(database.execute(
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON"));
  return database;
}

Result<void> SqliteDatabase::execute(const std::string& sql) {
  if (sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failed(sql);
}

Result<std::int64_t> SqliteDatabase::pragma(std::string_view name) {
  auto statement = SqliteStatement::prepare(*this, fmt::format("PRAGMA {}", name));
  if (!statement || statement->step() != SQLITE_ROW) return failed(name);
  return statement->integer(0);
}

Result<void> SqliteDatabase::check_identity() {
  if (TRY(pragma("application_id")) != kJournalApplicationId) {
    return fail(ErrorCode::journal_foreign, path_.string());
  }
  std::int64_t version = TRY(pragma("user_version"));
  if (version > kJournalVersion) return journal_newer(path_, version);
  if (version < 1) return damaged("it has no version");
  return {};
}

void SqliteDatabase::checkpoint_on_close(bool enabled) {
  sqlite3_db_config(get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, enabled ? 0 : 1, nullptr);
}

std::unexpected<Error> SqliteDatabase::failed(std::string_view doing) const {
  ErrorCode code = ErrorCode::journal_failed;
  switch (sqlite3_errcode(get()) & 0xff) {
    case SQLITE_FULL:
      code = ErrorCode::disk_full;
      break;
    case SQLITE_CORRUPT:
      code = ErrorCode::journal_damaged;
      break;
    case SQLITE_NOTADB:
      code = ErrorCode::journal_foreign;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      code = ErrorCode::journal_locked;
      break;
    default:
      break;
  }
  return fail(code, fmt::format("{}: {}: {}", path_.string(), doing, sqlite3_errmsg(get())));
}

std::unexpected<Error> SqliteDatabase::damaged(std::string_view why) const {
  return fail(ErrorCode::journal_damaged, fmt::format("{}: {}", path_.string(), why));
}

std::unexpected<Error> journal_newer(const fs::path& path, std::int64_t version) {
  return fail(ErrorCode::journal_newer, fmt::format("{}: its version is {}, this program knows {}",
                                                    path.string(), version, kJournalVersion));
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* raw) const {
  sqlite3_finalize(raw);
}

Result<SqliteStatement> SqliteStatement::prepare(const SqliteDatabase& database,
                                                 const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
    return database.failed("prepare");
  }
  SqliteStatement statement;
  statement.raw_.reset(raw);
  return statement;
}

int SqliteStatement::step() {
  return bound_ ? sqlite3_step(raw_.get()) : SQLITE_NOMEM;
}
void SqliteStatement::reset() {
  sqlite3_reset(raw_.get());
}
void SqliteStatement::bind(int column, std::int64_t value) {
  if (sqlite3_bind_int64(raw_.get(), column, value) != SQLITE_OK) bound_ = false;
}
void SqliteStatement::bind(int column, const std::string& text) {
  if (sqlite3_bind_text64(raw_.get(), column, text.data(), text.size(), SQLITE_STATIC,
                          SQLITE_UTF8) != SQLITE_OK) {
    bound_ = false;
  }
}
std::int64_t SqliteStatement::integer(int column) {
  return sqlite3_column_int64(raw_.get(), column);
}
std::string SqliteStatement::text(int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(raw_.get(), column));
  if (!bytes) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(raw_.get(), column))};
}

std::uint32_t checksum_of(std::uint32_t previous, const Entry& entry) {
  std::uint64_t numbers[] = {entry.sequence, static_cast<std::uint64_t>(entry.at.ms_since_1970),
                             entry.type.size(), entry.body.size()};
  char bytes[sizeof numbers];
  std::memcpy(bytes, numbers, sizeof numbers);
  std::uint32_t crc = crc32(previous, {bytes, sizeof bytes});
  return crc32(crc32(crc, entry.type), entry.body);
}

Result<void> read_entries(SqliteDatabase& database, std::uint64_t last, JournalPosition& position,
                          std::vector<Entry>& entries) {
  auto rows = SqliteStatement::prepare(database,
                                       "SELECT sequence, at_ms, type, body, crc FROM entry "
                                       "WHERE sequence > ? AND sequence <= ? ORDER BY sequence");
  if (!rows) return database.damaged(sqlite3_errmsg(database.get()));
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  rows->bind(1, static_cast<std::int64_t>(position.sequence));
  rows->bind(2, static_cast<std::int64_t>(std::min(last, kLargest)));
  int step;
  while ((step = rows->step()) == SQLITE_ROW) {
    Entry entry{static_cast<std::uint64_t>(rows->integer(0)),
                {rows->integer(1)},
                rows->text(2),
                rows->text(3)};
    if (entry.sequence != position.sequence + 1) {
      return database.damaged(
          fmt::format("row {} follows row {}", entry.sequence, position.sequence));
    }
    std::uint32_t checksum = checksum_of(position.checksum, entry);
    if (rows->integer(4) != checksum) {
      return database.damaged(fmt::format("row {} fails its checksum", entry.sequence));
    }
    position = {entry.sequence, checksum};
    entries.push_back(std::move(entry));
  }
  if (step != SQLITE_DONE) return database.failed("read");
  return {};
}

Result<JournalPosition> position_at(SqliteDatabase& database, std::uint64_t sequence) {
  if (sequence == 0) return JournalPosition{};
  auto row = SqliteStatement::prepare(database, "SELECT crc FROM entry WHERE sequence = ?");
  if (!row) return database.damaged(sqlite3_errmsg(database.get()));
  row->bind(1, static_cast<std::int64_t>(sequence));
  if (row->step() != SQLITE_ROW)
    return database.damaged(fmt::format("there is no row {}", sequence));
  return JournalPosition{sequence, static_cast<std::uint32_t>(row->integer(0))};
}

}  // namespace specgen
