// kill -9 at every append and at every disk operation of a writer process, and a disk that is really full. No
// acknowledged entry may be lost, and opening again must always work.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <filesystem>

#include "base/temporary_folder.h"
#include "base/text.h"
#include "journal/journal.h"
#include "journal/sqlite_storage.h"
#include "runtime/subprocess.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// What the writer printed before it ended.
struct WriterOutput {
  std::uint64_t appended = 0;
  std::uint64_t durable = 0;
  std::uint64_t operations = 0;
  bool killed = false;

  void take(std::string_view line) {
    auto number = [&](std::string_view word) -> std::optional<std::uint64_t> {
      if (!line.starts_with(word)) return std::nullopt;
      return std::stoull(std::string(line.substr(word.size())));
    };
    if (auto n = number("appending ")) appended = *n;
    if (auto n = number("durable ")) durable = *n;
    if (auto n = number("operations ")) operations = *n;
  }
};

Task<Result<void>> check_folder(Loop& loop, RealDriver& driver, fs::path folder,
                                WriterOutput output) {
  auto storage = CO_TRY(co_await SqliteStorage::open(loop, driver, folder));
  auto [journal, past] = CO_TRY(co_await Journal::open(loop, *storage));
  EXPECT_GE(past.size(), output.durable) << "an acknowledged entry is lost";
  EXPECT_LE(past.size(), output.appended);
  for (const Entry& entry : past) {
    if (entry.type != "artifact") continue;
    std::string content = CO_TRY(co_await storage->get({entry.body}));
    EXPECT_EQ(content, "artifact " + std::to_string(entry.sequence));
  }
  co_return Result<void>();
}

// Runs the writer until it exits. `kill_at` not 0: kills it when it prints that it appends that entry.
Task<Result<WriterOutput>> run_writer(Processes& processes, std::vector<std::string> argv,
                                      std::uint64_t kill_at) {
  Process writer = CO_TRY(processes.spawn({.argv = std::move(argv)}));
  WriterOutput output;
  std::string text;
  std::array<char, 4096> buffer;
  while (std::size_t n = CO_TRY(co_await writer.output->read_some(buffer))) {
    text.append(buffer.data(), n);
    std::size_t end;
    while ((end = text.find('\n')) != std::string::npos) {
      output.take(std::string_view(text).substr(0, end));
      text.erase(0, end + 1);
    }
    if (kill_at && output.appended >= kill_at) writer.kill();
  }
  Exit exit = co_await writer.wait();
  EXPECT_TRUE(exit.signal == SIGKILL || exit.ok()) << to_string(exit);
  output.killed = exit.signal == SIGKILL;
  co_return output;
}

class KilledRun : public testing::Test {
 protected:
  RealDriver driver{1};
  Loop loop{driver};
  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  fs::path folder = temporary_.path();
};

TEST_F(KilledRun, kill_9_at_every_append_loses_no_acknowledged_entry) {
  Processes processes(loop, driver);
  WriterOutput output;
  int kills = 0;
  for (std::uint64_t append = 1; append <= 220; ++append) {
    auto run = loop.run(run_writer(processes, {JOURNAL_WRITER, folder, "1000"}, append));
    ASSERT_TRUE(run) << run.error().text();
    output.appended = std::max(output.appended, run->appended);
    output.durable = std::max(output.durable, run->durable);
    kills += run->killed ? 1 : 0;
    auto checked = loop.run(check_folder(loop, driver, folder, output));
    ASSERT_TRUE(checked) << "after kill " << kills << ": " << checked.error().text();
  }
  EXPECT_GE(kills, 200);
  EXPECT_GE(output.durable, 200U) << "the run made no progress between kills";
  loop.run(processes.drain());
}

TEST_F(KilledRun, kill_9_at_every_disk_operation_loses_no_acknowledged_entry) {
  Processes processes(loop, driver);
  auto reference = loop.run(run_writer(processes, {JOURNAL_WRITER, folder / "reference", "12"}, 0));
  ASSERT_TRUE(reference);
  ASSERT_GT(reference->operations, 40U);
  for (std::uint64_t operation = 1; operation <= reference->operations; ++operation) {
    SCOPED_TRACE("operation " + std::to_string(operation));
    fs::path run_folder = folder / std::to_string(operation);
    auto output = loop.run(
        run_writer(processes, {JOURNAL_WRITER, run_folder, "12", std::to_string(operation)}, 0));
    ASSERT_TRUE(output) << output.error().text();
    EXPECT_TRUE(output->killed);
    auto checked = loop.run(check_folder(loop, driver, run_folder, *output));
    ASSERT_TRUE(checked) << checked.error().text();
    fs::remove_all(run_folder);
  }
  loop.run(processes.drain());
}

TEST_F(KilledRun, a_really_full_disk_is_a_clean_error_and_the_run_resumes_when_there_is_space) {
  fs::path disk = folder / "disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "NOT RUN: mounting a small disk needs root";
  }
  struct Unmount {
    fs::path path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } unmount{disk};

  auto fill = [](Loop& its_loop, RealDriver& its_driver, fs::path where, std::uint64_t& durable,
                 int count) -> Task<Result<void>> {
    auto storage = CO_TRY(co_await SqliteStorage::open(its_loop, its_driver, where));
    auto [journal, past] = CO_TRY(co_await Journal::open(its_loop, *storage));
    EXPECT_GE(past.size(), durable) << "an acknowledged entry is lost";
    for (int i = 0; i < count; ++i) {
      CO_TRY(co_await journal->record("step", std::string(3000, 'x')));
      durable = journal->last_durable();
    }
    co_return Result<void>();
  };
  std::uint64_t durable = 0;
  auto full = loop.run(fill(loop, driver, disk / "run", durable, 10'000));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::disk_full) << full.error().text();
  EXPECT_GT(durable, 20U);
  ASSERT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  auto resumed = loop.run(fill(loop, driver, disk / "run", durable, 100));
  EXPECT_TRUE(resumed) << resumed.error().text();
}

}  // namespace
}  // namespace specgen
