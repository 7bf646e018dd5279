#include "journal/sqlite_file.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cstring>
#include <fstream>

#include "base/assert.h"
#include "base/hash.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

class Statement {
 public:
  static Result<Statement> prepare(sqlite3* database, const char* sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database, sql, -1, &raw, nullptr) != SQLITE_OK) {
      return fail(ErrorCode::journal_failed, sqlite3_errmsg(database));
    }
    return Statement(raw);
  }
  int step() { return bound_ ? sqlite3_step(raw_.get()) : SQLITE_NOMEM; }
  void reset() { sqlite3_reset(raw_.get()); }
  void bind(int column, std::int64_t value) {
    if (sqlite3_bind_int64(raw_.get(), column, value) != SQLITE_OK) bound_ = false;
  }
  void bind(int column, const std::string& text) {  // the text must live until reset()
    if (sqlite3_bind_text64(raw_.get(), column, text.data(), text.size(), SQLITE_STATIC,
                            SQLITE_UTF8) != SQLITE_OK) {
      bound_ = false;
    }
  }
  std::int64_t integer(int column) { return sqlite3_column_int64(raw_.get(), column); }
  std::string text(int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(raw_.get(), column));
    return bytes ? std::string(bytes,
                               static_cast<std::size_t>(sqlite3_column_bytes(raw_.get(), column)))
                 : std::string();
  }

 private:
  explicit Statement(sqlite3_stmt* raw) : raw_(raw) {}
  struct Finalize {
    void operator()(sqlite3_stmt* raw) const { sqlite3_finalize(raw); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> raw_;
  bool bound_ = true;  // a value that could not be bound must not be stored as nothing
};

// Chained: a row that was changed, dropped from the middle or moved breaks every checksum after it.
std::uint32_t checksum(std::uint32_t previous, const Entry& entry) {
  std::uint64_t numbers[] = {entry.sequence, static_cast<std::uint64_t>(entry.at.ms_since_1970),
                             entry.type.size(), entry.body.size()};
  char bytes[sizeof numbers];
  std::memcpy(bytes, numbers, sizeof numbers);
  std::uint32_t crc = crc32(previous, {bytes, sizeof bytes});
  return crc32(crc32(crc, entry.type), entry.body);
}

}  // namespace

void SqliteFile::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

SqliteFile::SqliteFile(fs::path path) : path_(std::move(path)) {}
SqliteFile::SqliteFile(SqliteFile&&) noexcept = default;
SqliteFile& SqliteFile::operator=(SqliteFile&&) noexcept = default;
SqliteFile::~SqliteFile() = default;

std::unexpected<Error> SqliteFile::failed(std::string_view doing) const {
  ErrorCode code = ErrorCode::journal_failed;
  switch (sqlite3_errcode(database_.get()) & 0xff) {
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
  return fail(code,
              fmt::format("{}: {}: {}", path_.string(), doing, sqlite3_errmsg(database_.get())));
}

Result<void> SqliteFile::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failed(sql);
}

Result<std::int64_t> SqliteFile::pragma(const char* name) {
  auto statement = Statement::prepare(database_.get(), fmt::format("PRAGMA {}", name).c_str());
  if (!statement || statement->step() != SQLITE_ROW) return failed(name);
  return statement->integer(0);
}

// What can be told without SQLite, which changes some files as soon as it looks at them: it deletes the log of an
// empty database, and rolls back what an interrupted writer left, whoever's it is.
Result<void> SqliteFile::look_before_opening() const {
  std::error_code ignored;
  auto size_of = [&](const std::string& suffix) {
    fs::path file = path_.string() + suffix;
    return fs::exists(file, ignored) ? fs::file_size(file, ignored) : 0;
  };
  if (size_of("") == 0) {
    if (size_of("-wal") == 0) return {};
    return fail(ErrorCode::journal_damaged, path_.string() + ": it is empty, but its log is not");
  }
  char header[100] = {};
  std::ifstream(path_, std::ios::binary).read(header, sizeof header);
  auto number_at = [&](std::size_t offset) {  // big-endian
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
      number = number << 8 | static_cast<unsigned char>(header[offset + i]);
    return number;
  };
  bool is_sqlite = std::string_view(header, 16) == std::string_view("SQLite format 3\0", 16);
  std::uint32_t application = number_at(68), version = number_at(60);
  if (!is_sqlite || (application != 0 && application != kJournalApplicationId)) {
    return fail(ErrorCode::journal_foreign, path_.string());
  }
  if (application == kJournalApplicationId && version > kJournalVersion) return newer(version);
  return {};
}

std::unexpected<Error> SqliteFile::newer(std::int64_t version) const {
  return fail(ErrorCode::journal_newer, fmt::format("{}: its version is {}, this program knows {}",
                                                    path_.string(), version, kJournalVersion));
}

Result<SqliteFile> SqliteFile::open(const fs::path& path, std::uint64_t known_durable) {
  SqliteFile file(path);
  TRY(file.look_before_opening());
  fs::path log = path.string() + "-wal";
  std::error_code ignored;
  bool had_log = fs::exists(log, ignored);

  sqlite3* raw = nullptr;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int opened = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  file.database_.reset(raw);
  if (opened != SQLITE_OK) return file.failed("open");
  sqlite3_extended_result_codes(raw, 1);

  Result<void> usable = file.check_and_read(known_durable);
  if (!usable) {
    file.database_.reset();
    // SQLite makes an empty log as soon as it looks; a refused file is to be left as it was found.
    if (!had_log && fs::exists(log, ignored) && fs::file_size(log, ignored) == 0) {
      fs::remove(log, ignored);
    }
    return std::unexpected(std::move(usable).error());
  }
  return file;
}

Result<void> SqliteFile::check_and_read(std::uint64_t known_durable) {
  // Until everything is checked, closing must not fold the log back into the file.
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // Exclusive: the log's index then lives in our memory, and no other process can slip in.
  TRY(execute(
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON"));
  std::int64_t pages = TRY(pragma("page_count"));
  if (pages == 0) {
    if (known_durable == 0) TRY(create());
  } else {
    if (TRY(pragma("application_id")) != kJournalApplicationId) {
      return fail(ErrorCode::journal_foreign, path_.string());
    }
    std::int64_t version = TRY(pragma("user_version"));
    if (version > kJournalVersion) return newer(version);
    if (version < 1)
      return fail(ErrorCode::journal_damaged, path_.string() + ": it has no version");
    auto damaged = [this](std::string_view why) {
      return fail(ErrorCode::journal_damaged, fmt::format("{}: {}", path_.string(), why));
    };
    auto check = Statement::prepare(database_.get(), "PRAGMA quick_check(1)");
    if (!check || check->step() != SQLITE_ROW) return failed("quick_check");
    if (std::string verdict = check->text(0); verdict != "ok") return damaged(verdict);

    auto rows = Statement::prepare(
        database_.get(), "SELECT sequence, at_ms, type, body, crc FROM entry ORDER BY sequence");
    if (!rows) return damaged(rows.error().context);
    int step;
    while ((step = rows->step()) == SQLITE_ROW) {
      Entry entry{static_cast<std::uint64_t>(rows->integer(0)),
                  {rows->integer(1)},
                  rows->text(2),
                  rows->text(3)};
      last_crc_ = checksum(last_crc_, entry);
      if (entry.sequence != entries_.size() + 1) {
        return damaged(fmt::format("row {} follows row {}", entry.sequence, entries_.size()));
      }
      if (rows->integer(4) != last_crc_)
        return damaged(fmt::format("row {} fails its checksum", entry.sequence));
      entries_.push_back(std::move(entry));
    }
    if (step != SQLITE_DONE) return failed("read");
  }
  if (entries_.size() < known_durable) {
    return fail(ErrorCode::journal_damaged,
                fmt::format("{}: {} entries were durable, {} are there", path_.string(),
                            known_durable, entries_.size()));
  }
  return configure();
}

// Atomic twice over: a crash before the commit leaves an empty file, one before WAL mode a journal
// that configure() will switch.
Result<void> SqliteFile::create() {
  return execute(
      fmt::format("BEGIN IMMEDIATE;"
                  "PRAGMA application_id={};"
                  "PRAGMA user_version={};"
                  "CREATE TABLE entry (sequence INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,"
                  " type TEXT NOT NULL, body TEXT NOT NULL, crc INTEGER NOT NULL) STRICT;"
                  "COMMIT",
                  kJournalApplicationId, kJournalVersion)
          .c_str());
}

Result<void> SqliteFile::configure() {
  TRY(
      execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000;"
              "PRAGMA journal_size_limit=67108864"));
  // SQLite does not call it an error if it could not have it so.
  auto mode = Statement::prepare(database_.get(), "PRAGMA journal_mode");
  if (!mode || mode->step() != SQLITE_ROW) return failed("journal_mode");
  constexpr std::int64_t kFull = 2;
  if (mode->text(0) != "wal" || TRY(pragma("synchronous")) != kFull) {
    return fail(ErrorCode::journal_failed,
                path_.string() + ": this file system does not let a log be kept");
  }
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  return {};
}

Result<void> SqliteFile::append(std::span<const Entry> batch) {
  std::uint32_t crc = last_crc_;
  auto insert = Statement::prepare(database_.get(), "INSERT INTO entry VALUES (?, ?, ?, ?, ?)");
  if (!insert) return failed("insert");
  TRY(execute("BEGIN IMMEDIATE"));
  auto undo = [this](std::unexpected<Error> error) -> Result<void> {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return error;
  };
  for (const Entry& entry : batch) {
    crc = checksum(crc, entry);
    insert->bind(1, static_cast<std::int64_t>(entry.sequence));
    insert->bind(2, entry.at.ms_since_1970);
    insert->bind(3, entry.type);
    insert->bind(4, entry.body);
    insert->bind(5, static_cast<std::int64_t>(crc));
    if (insert->step() != SQLITE_DONE) return undo(failed("insert"));
    insert->reset();
  }
  if (Result<void> committed = execute("COMMIT"); !committed) {
    return undo(std::unexpected(std::move(committed).error()));
  }
  last_crc_ = crc;
  return {};
}

}  // namespace specgen
