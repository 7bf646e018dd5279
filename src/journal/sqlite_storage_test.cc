#include "journal/sqlite_storage.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "journal/journal.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

class RunFolders : public testing::Test {
 protected:
  Result<std::vector<Entry>> record(int count, std::string body = "{}") {
    auto steps = [](Loop& its_loop, RealDriver& its_driver, fs::path where, int how_many,
                    std::string what) -> Task<Result<std::vector<Entry>>> {
      auto storage = CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, where));
      auto opened = CO_TRY(co_await Journal::open(its_loop, *storage));
      for (int i = 0; i < how_many; ++i) CO_TRY(co_await opened.journal->record("step", what));
      co_return opened.past;
    };
    return loop.run(steps(loop, driver, folder, count, std::move(body)));
  }
  // Changes the file behind the journal's back; its lock is not held at this time.
  void change_file(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  void expect_refused_untouched(ErrorCode code) {
    std::string before = read_file(file()).value();
    auto refused = record(1);
    ASSERT_FALSE(refused) << "accepted a file that it must refuse";
    EXPECT_EQ(refused.error().code, code) << refused.error().text();
    EXPECT_NE(refused.error().context.find("journal.db"), std::string::npos)
        << "the error does not name the file";
    EXPECT_EQ(read_file(file()).value(), before) << "the file was changed";
    EXPECT_FALSE(fs::exists(file().string() + "-wal"));
  }
  // The folder as it is on disk while the run that recorded `count` entries is still open.
  void copy_while_open(int count) {
    fs::path open_folder = folder.string() + "-open";
    auto steps = [](Loop& its_loop, RealDriver& its_driver, fs::path from, fs::path to,
                    int how_many) -> Task<Result<void>> {
      auto storage = CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, from));
      auto opened = CO_TRY(co_await Journal::open(its_loop, *storage));
      for (int i = 0; i < how_many; ++i)
        CO_TRY(co_await opened.journal->record("step", std::string(200, 'b')));
      fs::copy(from, to, fs::copy_options::recursive);
      co_return Result<void>();
    };
    ASSERT_TRUE(loop.run(steps(loop, driver, open_folder, folder, count)));
    fs::remove_all(open_folder);
  }
  fs::path file() const { return folder / "journal.db"; }

  RealDriver driver{1};
  Loop loop{driver};
  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  fs::path folder = temporary_.path();
};

TEST_F(RunFolders, keeps_entries_over_reopening) {
  ASSERT_TRUE(record(5, R"({"text": "ünï \u0000"})"));
  auto past = record(0);
  ASSERT_TRUE(past) << past.error().text();
  ASSERT_EQ(past->size(), 5U);
  EXPECT_EQ(past->at(4).sequence, 5U);
  EXPECT_EQ(past->at(4).body, R"({"text": "ünï \u0000"})");
}

TEST_F(RunFolders, keeps_bytes_that_are_not_valid_text) {
  std::string body("a\0b\xff", 4);
  ASSERT_TRUE(record(1, body));
  EXPECT_EQ(record(0).value().at(0).body, body);
}

TEST_F(RunFolders, of_two_writes_of_a_file_the_later_one_wins) {
  auto steps = [](Loop& its_loop, RealDriver& its_driver, fs::path where) -> Task<Result<void>> {
    auto storage = CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, where));
    TaskGroup both(its_loop);
    both.spawn(storage->write_file("best/softmax.cc", "first"));
    both.spawn(storage->write_file("best/softmax.cc", "second"));
    co_return co_await both.join();
  };
  ASSERT_TRUE(loop.run(steps(loop, driver, folder)));
  EXPECT_EQ(read_file(folder / "best" / "softmax.cc").value(), "second");
}

TEST_F(RunFolders, refuses_a_second_writer_and_names_the_first) {
  auto twice = [](Loop& its_loop, RealDriver& its_driver, fs::path where) -> Task<Result<void>> {
    auto first = CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, where));
    auto second = co_await SqliteStorage::open(its_loop, its_driver, where);
    if (second) co_return Result<void>();
    co_return std::unexpected(second.error());
  };
  auto refused = loop.run(twice(loop, driver, folder));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::journal_locked);
  EXPECT_NE(refused.error().context.find(std::to_string(::getpid())), std::string::npos);
  EXPECT_TRUE(record(1)) << "the lock was not released";
}

TEST_F(RunFolders, refuses_a_newer_journal) {
  ASSERT_TRUE(record(3));
  change_file("PRAGMA user_version=2");
  expect_refused_untouched(ErrorCode::journal_newer);
}

TEST_F(RunFolders, refuses_a_database_that_is_not_ours) {
  change_file("CREATE TABLE t(x); INSERT INTO t VALUES (1)");
  expect_refused_untouched(ErrorCode::journal_foreign);
}

TEST_F(RunFolders, refuses_a_file_that_is_not_a_database) {
  std::ofstream(file()) << std::string(5000, 'x');
  expect_refused_untouched(ErrorCode::journal_foreign);
}

TEST_F(RunFolders, refuses_a_row_that_was_changed) {
  ASSERT_TRUE(record(3));
  change_file("UPDATE entry SET body='[]' WHERE sequence=2; PRAGMA wal_checkpoint(TRUNCATE)");
  expect_refused_untouched(ErrorCode::journal_damaged);
}

TEST_F(RunFolders, refuses_a_row_that_was_removed) {
  ASSERT_TRUE(record(3));
  change_file("DELETE FROM entry WHERE sequence=2; PRAGMA wal_checkpoint(TRUNCATE)");
  expect_refused_untouched(ErrorCode::journal_damaged);
}

TEST_F(RunFolders, refuses_a_missing_table) {
  ASSERT_TRUE(record(3));
  change_file("ALTER TABLE entry RENAME TO entries");
  expect_refused_untouched(ErrorCode::journal_damaged);
}

TEST_F(RunFolders, a_flipped_byte_anywhere_is_refused_or_harmless) {
  ASSERT_TRUE(record(100, std::string(200, 'b')));
  const std::string good = read_file(file()).value();
  ASSERT_FALSE(fs::exists(file().string() + "-wal")) << "closing copies the log back into the file";
  Random random(7);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    bad[random.below(bad.size())] ^= static_cast<char>(1 << random.below(8));
    ASSERT_TRUE(write_file_durably(file(), bad));
    auto past = record(0);
    if (past) {
      ASSERT_EQ(past->size(), 100U) << "accepted with missing entries";
      for (const Entry& entry : *past) ASSERT_EQ(entry.body, std::string(200, 'b'));
    } else {
      ++refused;
      ASSERT_EQ(read_file(file()).value(), bad) << "a refused file was changed";
    }
    fs::remove(file().string() + "-wal");
  }
  EXPECT_GT(refused, 200) << "most of the file is rows with checksums";
}

TEST_F(RunFolders, a_truncated_file_is_refused) {
  ASSERT_TRUE(record(200, std::string(200, 'b')));
  fs::resize_file(file(), fs::file_size(file()) / 2);
  expect_refused_untouched(ErrorCode::journal_damaged);
}

// As kill -9 leaves it: all entries are still in the log.
TEST_F(RunFolders, refuses_an_empty_file_beside_a_full_log) {
  copy_while_open(20);
  fs::resize_file(file(), 0);
  std::string log = read_file(file().string() + "-wal").value();
  ASSERT_FALSE(log.empty());
  auto refused = record(0);
  ASSERT_FALSE(refused) << "the run was replaced by a new one";
  EXPECT_EQ(refused.error().code, ErrorCode::journal_damaged);
  EXPECT_EQ(read_file(file().string() + "-wal").value(), log) << "the log was changed";
}

TEST_F(RunFolders, a_log_that_was_not_copied_back_is_read) {
  copy_while_open(20);
  EXPECT_EQ(record(0).value().size(), 20U);
}

TEST_F(RunFolders, a_flipped_byte_in_the_log_is_refused_or_harmless) {
  copy_while_open(20);
  const std::string good = read_file(file()).value();
  const std::string log = read_file(file().string() + "-wal").value();
  const std::string lock = read_file(folder / "journal.lock").value();
  Random random(8);
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    std::string bad = log;
    bad[random.below(bad.size())] ^= static_cast<char>(1 << random.below(8));
    ASSERT_TRUE(write_file_durably(file(), good));
    ASSERT_TRUE(write_file_durably(file().string() + "-wal", bad));
    ASSERT_TRUE(write_file_durably(folder / "journal.lock", lock));
    auto past = record(0);
    if (past) {
      ASSERT_EQ(past->size(), 20U) << "acknowledged entries were lost silently";
    } else {
      ++refused;
      ASSERT_EQ(read_file(file().string() + "-wal").value(), bad) << "a refused log was changed";
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(RunFolders, an_empty_file_is_a_new_journal) {
  std::ofstream(file()).flush();
  auto past = record(2);
  ASSERT_TRUE(past) << past.error().text();
  EXPECT_TRUE(past->empty());
}

TEST_F(RunFolders, a_folder_that_cannot_be_created_is_an_error) {
  std::ofstream(folder / "file").flush();
  folder /= "file";
  auto refused = record(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::system_call);
  folder = folder.parent_path();
}

TEST_F(RunFolders, closing_releases_the_folder) {
  auto twice = [](Loop& its_loop, RealDriver& its_driver, fs::path where) -> Task<Result<void>> {
    auto first = CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, where));
    CO_TRY(co_await first->close());
    CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, where));
    co_return Result<void>();
  };
  auto again = loop.run(twice(loop, driver, folder));
  EXPECT_TRUE(again) << again.error().text();
}

TEST_F(RunFolders, stores_artifacts_once_and_repairs_a_damaged_one) {
  auto store = [](Loop& its_loop, RealDriver& its_driver,
                  fs::path where) -> Task<Result<std::string>> {
    auto storage = CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, where));
    ArtifactId id = CO_TRY(co_await storage->put("kernel source"));
    fs::path path = where / "artifacts" / id.sha256.substr(0, 2) / id.sha256;
    EXPECT_EQ(CO_TRY(read_file(path)), "kernel source");
    std::ofstream(path) << "damaged";
    EXPECT_EQ((co_await storage->get(id)).error().code, ErrorCode::artifact_damaged);
    CO_TRY(co_await storage->put("kernel source"));
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(where / "artifacts"))
      files += entry.is_regular_file();
    EXPECT_EQ(files, 1U) << "a temporary file was left behind";
    co_return co_await storage->get(id);
  };
  EXPECT_EQ(loop.run(store(loop, driver, folder)).value(), "kernel source");
}

}  // namespace
}  // namespace specgen
