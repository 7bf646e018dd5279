// A process appends to a journal while this one follows it: every acknowledged entry is seen, in order and intact, and
// the writer's end is noticed however it comes.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "base/temporary_folder.h"
#include "journal/journal_reader.h"
#include "runtime/subprocess.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

struct Followed {
  std::uint64_t durable = 0;  // as the writer has printed
  std::uint64_t seen = 0;     // last entry read
  std::uint64_t polls_with_entries = 0;
  bool was_running = false;  // at any poll
  Exit exit;
};

void expect_next(const Entry& entry, Followed& followed) {
  ASSERT_EQ(entry.sequence, ++followed.seen);
  if (entry.type == "artifact") return;
  std::string expected = "plain " + std::to_string(entry.sequence) + " ";
  ASSERT_EQ(entry.body.substr(0, expected.size()), expected);
}

Result<void> poll(JournalReader& reader, Followed& followed) {
  JournalReader::Update update = TRY(reader.poll());
  followed.was_running |= update.is_running;
  followed.polls_with_entries += !update.entries.empty();
  for (const Entry& entry : update.entries) expect_next(entry, followed);
  return {};
}

// Runs the writer; whenever it has printed something, everything that it called durable must be read.
// `kill_at` not 0: kills it once that entry is durable. `from_start`: reads everything again each time, which
// takes long
// enough to overlap with restarts of the log.
Task<Result<Followed>> follow(Processes& processes, fs::path folder, std::vector<std::string> argv,
                              std::uint64_t kill_at, bool from_start) {
  Process writer = CO_TRY(processes.spawn({.argv = std::move(argv)}));
  std::optional<JournalReader> reader;
  Followed followed;
  std::string text;
  std::array<char, 4096> buffer;
  while (std::size_t n = CO_TRY(co_await writer.output->read_some(buffer))) {
    text.append(buffer.data(), n);
    std::size_t end;
    while ((end = text.find('\n')) != std::string::npos) {
      std::string line = text.substr(0, end);
      if (line.starts_with("durable ")) followed.durable = std::stoull(line.substr(8));
      text.erase(0, end + 1);
    }
    if (followed.durable == 0) continue;
    if (!reader || from_start) {
      reader = CO_TRY(JournalReader::open(folder));
      followed.seen = 0;
    }
    CO_TRY(poll(*reader, followed));
    EXPECT_GE(followed.seen, followed.durable) << "an acknowledged entry was not seen";
    if (kill_at != 0 && followed.durable >= kill_at) writer.kill();
  }
  followed.exit = co_await writer.wait();
  JournalReader::Update last = CO_TRY(reader->poll());
  EXPECT_FALSE(last.is_running) << "the writer's end was not noticed";
  for (const Entry& entry : last.entries) expect_next(entry, followed);
  co_return followed;
}

class FollowedRun : public testing::Test {
 protected:
  Followed run(std::uint64_t count, std::uint64_t kill_at = 0, bool from_start = false) {
    Processes processes(loop, driver);
    auto followed = loop.run(follow(processes, folder,
                                    {JOURNAL_WRITER, folder, std::to_string(count), "0", "9000"},
                                    kill_at, from_start));
    loop.run(processes.drain());
    EXPECT_TRUE(followed) << followed.error().text();
    return followed ? *followed : Followed{};
  }

  RealDriver driver{1};
  Loop loop{driver};
  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  fs::path folder = temporary_.path() / "run";
};

// 3000 entries of three pages: the writer copies its log back and restarts it about nine times meanwhile.
TEST_F(FollowedRun, every_acknowledged_entry_is_seen_in_order_while_the_writer_appends) {
  constexpr std::uint64_t kEntries = 3000;
  Followed followed = run(kEntries);
  EXPECT_TRUE(followed.exit.ok());
  EXPECT_TRUE(followed.was_running);
  EXPECT_EQ(followed.seen, kEntries);
  EXPECT_GT(followed.polls_with_entries, 20U) << "it did not read beside the writer";
}

TEST_F(FollowedRun, a_new_reader_reads_everything_at_any_moment) {
  Followed followed = run(3000, 0, true);
  EXPECT_TRUE(followed.exit.ok());
  EXPECT_EQ(followed.seen, 3000U);
}

TEST_F(FollowedRun, a_killed_writer_leaves_a_journal_that_is_read_to_its_end_and_not_running) {
  Followed followed = run(100'000, 400);
  EXPECT_EQ(followed.exit.signal, SIGKILL);
  EXPECT_TRUE(followed.was_running);
  EXPECT_GE(followed.seen, followed.durable);
  EXPECT_GE(followed.durable, 400U);
}

TEST_F(FollowedRun, a_second_reader_may_start_at_any_entry) {
  run(50);
  JournalReader reader = JournalReader::open(folder, 41).value();
  JournalReader::Update update = reader.poll().value();
  ASSERT_EQ(update.entries.size(), 10U);
  EXPECT_EQ(update.entries.front().sequence, 41U);
  EXPECT_TRUE(reader.poll().value().entries.empty());
}

}  // namespace
}  // namespace specgen
