#include "journal/journal.h"

#include <gtest/gtest.h>

#include "journal/virtual_storage.h"
#include "runtime/race.h"
#include "runtime/virtual_driver.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  explicit Fixture(std::uint64_t seed = 1) : driver(seed), loop(driver) {}
  VirtualDriver driver;
  Loop loop;
  VirtualDisk disk;
};

Task<Result<std::vector<Entry>>> read_back(Loop& loop, VirtualDisk& disk) {
  VirtualStorage storage(loop, disk);
  auto opened = CO_TRY(co_await Journal::open(loop, storage));
  co_return opened.past;
}

Task<Result<void>> record_three(Loop& loop, VirtualDisk& disk) {
  VirtualStorage storage(loop, disk);
  auto opened = CO_TRY(co_await Journal::open(loop, storage));
  for (int i = 1; i <= 3; ++i) {
    CO_TRY(co_await opened.journal->record("step", std::to_string(i)));
    EXPECT_EQ(disk.entries.size(), static_cast<std::size_t>(i))
        << "record() returned before its entry was durable";
  }
  co_return Result<void>();
}

TEST(Journal, recorded_entries_are_read_back_in_order) {
  Fixture fixture;
  ASSERT_TRUE(fixture.loop.run(record_three(fixture.loop, fixture.disk)));
  auto past = fixture.loop.run(read_back(fixture.loop, fixture.disk));
  ASSERT_TRUE(past);
  ASSERT_EQ(past->size(), 3U);
  EXPECT_EQ((*past)[2].sequence, 3U);
  EXPECT_EQ((*past)[2].body, "3");
}

TEST(Journal, numbering_continues_after_reopening) {
  Fixture fixture;
  ASSERT_TRUE(fixture.loop.run(record_three(fixture.loop, fixture.disk)));
  fixture.disk.entries.resize(2);
  auto record_again = [](Loop& loop, VirtualDisk& disk) -> Task<Result<void>> {
    VirtualStorage storage(loop, disk);
    auto opened = CO_TRY(co_await Journal::open(loop, storage));
    co_return co_await opened.journal->record("step", "again");
  };
  ASSERT_TRUE(fixture.loop.run(record_again(fixture.loop, fixture.disk)));
  ASSERT_EQ(fixture.disk.entries.size(), 3U);
  EXPECT_EQ(fixture.disk.entries.back().sequence, 3U);
}

Task<Result<std::uint64_t>> append_many(Loop& loop, VirtualDisk& disk, int count) {
  VirtualStorage storage(loop, disk);
  auto opened = CO_TRY(co_await Journal::open(loop, storage));
  for (int i = 0; i < count; ++i) CO_TRY(opened.journal->append("intent", "{}"));
  EXPECT_EQ(opened.journal->last_durable(), 0U) << "append() waited";
  CO_TRY(co_await opened.journal->flush());
  co_return opened.journal->commits();
}

TEST(Journal, appends_made_together_share_a_commit) {
  Fixture fixture;
  auto commits = fixture.loop.run(append_many(fixture.loop, fixture.disk, 500));
  ASSERT_TRUE(commits);
  EXPECT_EQ(*commits, 1U);
  EXPECT_EQ(fixture.disk.entries.size(), 500U);
}

TEST(Journal, a_commit_has_a_limit) {
  Fixture fixture;
  auto commits = fixture.loop.run(append_many(fixture.loop, fixture.disk, 2500));
  ASSERT_TRUE(commits);
  EXPECT_EQ(*commits, 3U);
}

TEST(Journal, an_append_over_the_limit_is_refused_and_no_entry_is_lost) {
  Fixture fixture;
  auto flood = [](Loop& loop, VirtualDisk& disk) -> Task<Result<void>> {
    VirtualStorage storage(loop, disk);
    auto opened = CO_TRY(co_await Journal::open(loop, storage, {.waiting_entries = 10}));
    for (int i = 0; i < 10; ++i) CO_TRY(opened.journal->append("intent", "{}"));
    auto refused = opened.journal->append("intent", "{}");
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_EQ(refused.error().code, ErrorCode::journal_overloaded);
    CO_TRY(co_await opened.journal->flush());
    EXPECT_TRUE(opened.journal->append("intent", "{}")) << "capacity is free again";
    co_return co_await opened.journal->flush();
  };
  ASSERT_TRUE(fixture.loop.run(flood(fixture.loop, fixture.disk)));
  EXPECT_EQ(fixture.disk.entries.size(), 11U);
}

TEST(Journal, an_entry_that_is_too_large_is_refused_and_the_journal_continues) {
  Fixture fixture;
  auto append_large = [](Loop& loop, VirtualDisk& disk) -> Task<Result<void>> {
    VirtualStorage storage(loop, disk);
    auto opened = CO_TRY(co_await Journal::open(loop, storage, {.entry = {100}}));
    auto refused = opened.journal->append("step", std::string(97, 'x'));
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_EQ(refused.error().code, ErrorCode::entry_too_large);
    co_return co_await opened.journal->record("step", std::string(96, 'x'));
  };
  EXPECT_TRUE(fixture.loop.run(append_large(fixture.loop, fixture.disk)));
  EXPECT_EQ(fixture.disk.entries.size(), 1U);
}

TEST(Journal, waiting_bytes_and_batch_bytes_are_limited) {
  Fixture fixture;
  auto flood = [](Loop& loop, VirtualDisk& disk) -> Task<Result<void>> {
    VirtualStorage storage(loop, disk);
    auto opened =
        CO_TRY(co_await Journal::open(loop, storage, {.waiting = {1000}, .batch = {300}}));
    for (int i = 0; i < 10; ++i) CO_TRY(opened.journal->append("step", std::string(96, 'x')));
    EXPECT_FALSE(opened.journal->append("step", ""));
    CO_TRY(co_await opened.journal->flush());
    EXPECT_EQ(opened.journal->commits(), 4U);
    co_return Result<void>();
  };
  EXPECT_TRUE(fixture.loop.run(flood(fixture.loop, fixture.disk)));
}

// Records until an error; returns how many were acknowledged, and the error.
struct Outcome {
  std::uint64_t acknowledged = 0;
  std::optional<ErrorCode> error;
};

Task<Outcome> record_until_failure(Loop& loop, VirtualDisk& disk, int count) {
  VirtualStorage storage(loop, disk);
  Outcome outcome;
  auto opened = co_await Journal::open(loop, storage);
  EXPECT_TRUE(opened);
  for (int i = 0; i < count; ++i) {
    auto recorded = co_await opened->journal->record("step", std::string(100, 'x'));
    if (!recorded) {
      outcome.error = recorded.error().code;
      EXPECT_FALSE(opened->journal->append("step", "{}")) << "a failed journal accepts no entry";
      EXPECT_FALSE(co_await opened->journal->flush());
      break;
    }
    ++outcome.acknowledged;
  }
  co_return outcome;
}

TEST(Journal, a_failing_write_at_any_point_loses_no_acknowledged_entry) {
  Fixture reference;
  reference.loop.run(record_until_failure(reference.loop, reference.disk, 20));
  ASSERT_GE(reference.disk.writes, 40U);
  for (std::uint64_t n = 1; n <= reference.disk.writes; ++n) {
    Fixture fixture(n);
    fixture.disk.failing_write = n;
    Outcome outcome = fixture.loop.run(record_until_failure(fixture.loop, fixture.disk, 20));
    EXPECT_EQ(outcome.error, ErrorCode::journal_failed) << "write " << n;
    auto past = fixture.loop.run(read_back(fixture.loop, fixture.disk));
    ASSERT_TRUE(past);
    // The batch whose sync failed may have been written; acknowledged entries must have been.
    EXPECT_GE(past->size(), outcome.acknowledged) << "write " << n;
    EXPECT_LE(past->size(), outcome.acknowledged + 1) << "write " << n;
  }
}

TEST(Journal, a_full_disk_is_reported_and_recording_continues_when_there_is_space) {
  Fixture fixture;
  fixture.disk.capacity = {2000};
  Outcome outcome = fixture.loop.run(record_until_failure(fixture.loop, fixture.disk, 100));
  EXPECT_EQ(outcome.error, ErrorCode::disk_full);
  EXPECT_GT(outcome.acknowledged, 5U);
  fixture.disk.capacity = MiB(1);
  Outcome resumed = fixture.loop.run(record_until_failure(fixture.loop, fixture.disk, 10));
  EXPECT_FALSE(resumed.error);
  EXPECT_EQ(fixture.disk.entries.size(), outcome.acknowledged + 10);
}

Task<void> record_and_count(Loop& loop, VirtualDisk& disk, std::uint64_t& acknowledged) {
  VirtualStorage storage(loop, disk);
  auto opened = co_await Journal::open(loop, storage);
  acknowledged = opened->past.size();
  while (true) {
    auto recorded = co_await opened->journal->record("step", "{}");
    EXPECT_TRUE(recorded);
    ++acknowledged;
  }
}

Task<void> crash_after(Loop& loop, VirtualDisk& disk, Duration lifetime,
                       std::uint64_t& acknowledged) {
  co_await race(record_and_count(loop, disk, acknowledged), loop.sleep(lifetime));
}

TEST(Journal, a_crash_at_any_time_keeps_acknowledged_entries_and_at_most_one_commit_more) {
  Fixture fixture;
  bool in_flight_landed = false, in_flight_lost = false;
  for (int crash = 0; crash < 200; ++crash) {
    std::uint64_t acknowledged = 0;
    Duration lifetime = std::chrono::microseconds(fixture.driver.random().below(40'000));
    fixture.loop.run(crash_after(fixture.loop, fixture.disk, lifetime, acknowledged));
    ASSERT_GE(fixture.disk.entries.size(), acknowledged);
    ASSERT_LE(fixture.disk.entries.size(), acknowledged + 1);
    (fixture.disk.entries.size() > acknowledged ? in_flight_landed : in_flight_lost) = true;
    for (std::size_t i = 0; i < fixture.disk.entries.size(); ++i)
      ASSERT_EQ(fixture.disk.entries[i].sequence, i + 1);
  }
  EXPECT_TRUE(in_flight_landed && in_flight_lost) << "the disk does not simulate both outcomes";
}

TEST(Journal, an_abandoned_wait_does_not_disturb_the_others) {
  Fixture fixture;
  auto cancel_one_wait = [](Loop& loop, VirtualDisk& disk) -> Task<Result<void>> {
    VirtualStorage storage(loop, disk);
    auto opened = CO_TRY(co_await Journal::open(loop, storage));
    auto late = co_await with_timeout(loop, 1ms, opened.journal->record("step", "1"));
    EXPECT_FALSE(late);
    CO_TRY(co_await opened.journal->record("step", "2"));
    co_return Result<void>();
  };
  ASSERT_TRUE(fixture.loop.run(cancel_one_wait(fixture.loop, fixture.disk)));
  EXPECT_EQ(fixture.disk.entries.size(), 2U)
      << "the entry was appended; only its wait was cancelled";
}

struct Sum {
  long total = 0;
  Result<void> apply(const Entry& entry) {
    if (entry.type != "step") return fail(ErrorCode::bad_json, entry.type);
    total += std::stol(entry.body);
    return {};
  }
};

TEST(Journal, state_is_a_fold_over_entries) {
  Fixture fixture;
  ASSERT_TRUE(fixture.loop.run(record_three(fixture.loop, fixture.disk)));
  auto sum = fold<Sum>(fixture.disk.entries);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->total, 6);
  fixture.disk.entries[1].type = "unheard-of";
  EXPECT_FALSE(fold<Sum>(fixture.disk.entries));
}

TEST(Artifacts, are_named_by_content_and_checked) {
  Fixture fixture;
  VirtualStorage storage(fixture.loop, fixture.disk);
  auto id = fixture.loop.run(storage.put("abc"));
  ASSERT_TRUE(id);
  EXPECT_EQ(id->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(fixture.loop.run(storage.get(*id)).value(), "abc");
  fixture.disk.artifacts[id->sha256] = "abd";
  auto damaged = fixture.loop.run(storage.get(*id));
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::artifact_damaged);
}

}  // namespace
}  // namespace specgen
