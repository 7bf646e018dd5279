#include "journal/journal_reader.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <map>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "journal/journal.h"
#include "journal/sqlite_storage.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

class ReadJournals : public testing::Test {
 protected:
  // A journal that stays open for writing until close().
  void open() {
    storage = loop.run(SqliteStorage::open(loop, driver, folder)).value();
    journal = std::move(loop.run(Journal::open(loop, *storage)).value().journal);
  }
  void record(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(loop.run(journal->record("step", std::to_string(journal->last_appended() + 1))));
    }
  }
  void close() {
    journal.reset();
    ASSERT_TRUE(loop.run(storage->close()));
    storage.reset();
  }
  // The folder as kill -9 leaves it: a copy made while the writer is open.
  fs::path as_killed() {
    fs::path copy = temporary_.path() / "killed";
    fs::copy(folder, copy, fs::copy_options::recursive);
    return copy;
  }
  static std::map<std::string, std::string> files_of(const fs::path& where) {
    std::map<std::string, std::string> files;
    for (const auto& file : fs::directory_iterator(where)) {
      files[file.path().filename()] = read_file(file.path()).value();
    }
    return files;
  }
  void change_file(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder / "journal.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  ErrorCode error_of_reading() {
    auto reader = JournalReader::open(folder);
    if (!reader) return reader.error().code;
    auto update = reader->poll();
    EXPECT_FALSE(update) << "read " << update->entries.size() << " entries";
    return update ? ErrorCode::bad_usage : update.error().code;
  }

  RealDriver driver{1};
  Loop loop{driver};
  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  fs::path folder = temporary_.path() / "a run? 100%";  // a name with URI characters
  std::unique_ptr<SqliteStorage> storage;
  std::unique_ptr<Journal> journal;
};

TEST_F(ReadJournals, entries_are_read_while_the_writer_is_open_and_polls_return_only_new_ones) {
  open();
  JournalReader reader = JournalReader::open(folder).value();
  JournalReader::Update update = reader.poll().value();
  EXPECT_TRUE(update.entries.empty());
  EXPECT_TRUE(update.is_running);
  record(3);
  EXPECT_EQ(reader.poll().value().entries.size(), 3U);
  record(2);
  update = reader.poll().value();
  ASSERT_EQ(update.entries.size(), 2U);
  EXPECT_EQ(update.entries[0].sequence, 4U);
  EXPECT_EQ(update.entries[1].body, "5");
  EXPECT_TRUE(update.is_running);
  close();
  update = reader.poll().value();
  EXPECT_TRUE(update.entries.empty());
  EXPECT_FALSE(update.is_running);
}

TEST_F(ReadJournals, a_killed_run_is_read_from_its_log_and_its_folder_is_left_as_it_was) {
  open();
  record(20);
  fs::path killed = as_killed();
  ASSERT_TRUE(fs::exists(killed / "journal.db-wal"));
  auto before = files_of(killed);
  JournalReader::Update update = JournalReader::open(killed).value().poll().value();
  EXPECT_EQ(update.entries.size(), 20U);
  EXPECT_FALSE(update.is_running);
  EXPECT_EQ(files_of(killed), before);
}

TEST_F(ReadJournals, a_closed_run_is_read_and_its_folder_is_left_as_it_was) {
  open();
  record(3);
  close();
  ASSERT_FALSE(fs::exists(folder / "journal.db-wal"));
  auto before = files_of(folder);
  EXPECT_EQ(JournalReader::open(folder).value().poll().value().entries.size(), 3U);
  EXPECT_EQ(files_of(folder), before);
}

TEST_F(ReadJournals, a_reader_does_not_keep_a_writer_from_opening) {
  open();
  record(1);
  close();
  JournalReader reader = JournalReader::open(folder).value();
  EXPECT_EQ(reader.poll().value().entries.size(), 1U);
  open();
  record(1);
  JournalReader::Update update = reader.poll().value();
  EXPECT_EQ(update.entries.size(), 1U);
  EXPECT_TRUE(update.is_running) << "a resumed run is running again";
}

TEST_F(ReadJournals, artifacts_are_read_and_checked) {
  open();
  ArtifactId id = loop.run(storage->put("kernel source")).value();
  JournalReader reader = JournalReader::open(folder).value();
  EXPECT_EQ(reader.artifact(id).value(), "kernel source");
  std::ofstream(folder / "artifacts" / id.sha256.substr(0, 2) / id.sha256) << "damaged";
  EXPECT_EQ(reader.artifact(id).error().code, ErrorCode::artifact_damaged);
}

TEST_F(ReadJournals, a_folder_without_a_journal_is_no_run) {
  EXPECT_EQ(error_of_reading(), ErrorCode::no_run);
}

TEST_F(ReadJournals, damage_is_reported) {
  open();
  record(5);
  close();
  change_file("UPDATE entry SET body='x' WHERE sequence=2; PRAGMA wal_checkpoint(TRUNCATE)");
  EXPECT_EQ(error_of_reading(), ErrorCode::journal_damaged);
}

TEST_F(ReadJournals, missing_entries_at_the_end_are_reported) {
  open();
  record(5);
  close();
  change_file("DELETE FROM entry WHERE sequence=5; PRAGMA wal_checkpoint(TRUNCATE)");
  EXPECT_EQ(error_of_reading(), ErrorCode::journal_damaged);
}

TEST_F(ReadJournals, a_newer_journal_is_refused) {
  open();
  close();
  change_file("PRAGMA user_version=999");
  EXPECT_EQ(error_of_reading(), ErrorCode::journal_newer);
}

TEST_F(ReadJournals, a_file_that_is_not_a_journal_is_refused) {
  fs::create_directory(folder);
  change_file("CREATE TABLE t(x)");
  EXPECT_EQ(error_of_reading(), ErrorCode::journal_foreign);
}

}  // namespace
}  // namespace specgen
