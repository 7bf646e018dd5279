#include "journal/journal_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "journal/run_files.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

bool has_content(const fs::path& file) {
  std::error_code missing;
  return fs::file_size(file, missing) > 0 && !missing;
}

}  // namespace

Result<JournalReader> JournalReader::open(fs::path folder, std::uint64_t first) {
  std::error_code trouble;
  if (!fs::is_regular_file(folder / "journal.db", trouble)) {
    return fail(ErrorCode::no_run, folder.string());
  }
  return JournalReader(std::move(folder), std::max<std::uint64_t>(first, 1));
}

Result<JournalReader::Update> JournalReader::poll() {
  // The writer restarts its log every thousand pages, so a read that meets that rarely meets it again.
  constexpr int kAttempts = 100;
  Update update;
  Result<void> outcome;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // The lock first: what is read after the writer has gone is all there is.
    WriterLock::Seen lock = TRY(WriterLock::inspect(folder_));
    update.is_running = lock.is_held;
    std::uint64_t known = position_ ? position_->sequence : first_ - 1;
    if (lock.is_held && lock.durable <= known) return update;
    outcome = read(lock.is_held ? lock.durable : kAll, update.entries);
    std::uint64_t there = position_ ? position_->sequence : 0;
    if (outcome && there < lock.durable) {
      outcome = fail(ErrorCode::journal_damaged,
                     fmt::format("{}: {} entries were durable, {} are there",
                                 (folder_ / "journal.db").string(), lock.durable, there));
    }
    if (outcome) return update;
    if (!lock.is_held) break;  // the file does not change: another read would give the same
  }
  return std::unexpected(std::move(outcome).error());
}

Result<void> JournalReader::read(std::uint64_t last, std::vector<Entry>& entries) {
  fs::path file = folder_ / "journal.db";
  // A new journal is created in a transaction with a rollback file, and has no entries before that is gone.
  std::error_code ignored;
  if (!has_content(file) || fs::exists(file.string() + "-journal", ignored)) return {};
  auto access = fs::exists(file.string() + "-wal", ignored) ? SqliteAccess::read
                                                            : SqliteAccess::read_without_log;
  SqliteDatabase database = TRY(SqliteDatabase::open(file, access));
  TRY(database.check_identity());
  JournalPosition position = position_ ? *position_ : TRY(position_at(database, first_ - 1));
  const std::uint64_t before = position.sequence;
  Result<void> outcome = read_entries(database, last, position, entries);
  // The checksum to start from is trusted once a row has followed from it.
  if (position.sequence > before || before == 0) position_ = position;
  return outcome;
}

Result<std::string> JournalReader::artifact(const ArtifactId& id) const {
  return read_artifact(folder_, id);
}

}  // namespace specgen
