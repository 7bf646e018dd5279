// The journal on a disk that fails, is full or loses power at each operation of a reference run.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "journal/sqlite_file.h"
#include "support/faulty_vfs.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

class FaultyDisk : public testing::Test {
 protected:
  void clear_folder() {
    fs::remove_all(folder);
    fs::create_directory(folder);
  }

  // Creates the journal, commits batches of growing size, closes, reopens and commits more, which covers creation, log
  // growth, the checkpoint at close and reopening. Stops at the first error.
  struct Reference {
    std::uint64_t acknowledged = 0;
    std::optional<Error> error;
  };
  Reference run_reference() {
    Reference run;
    for (int session = 0; session < 2 && !run.error; ++session) {
      auto file = SqliteFile::open(folder / "journal.db");
      if (!file) {
        run.error = file.error();
        return run;
      }
      std::uint64_t sequence = file->take_entries().size();
      for (int batch = 1; batch <= 6 && !run.error; ++batch) {
        std::vector<Entry> entries;
        for (int i = 0; i < batch; ++i) {
          entries.push_back({++sequence,
                             {1000},
                             "step",
                             std::string(static_cast<std::size_t>(300 * batch), 'x')});
        }
        auto appended = file->append(entries);
        if (appended) {
          run.acknowledged = sequence;
        } else {
          run.error = appended.error();
        }
      }
    }
    return run;
  }

  std::uint64_t operations_of_reference(FaultyVfs& vfs) {
    clear_folder();
    std::uint64_t before = vfs.operations();
    Reference run = run_reference();
    EXPECT_FALSE(run.error) << run.error->text();
    EXPECT_EQ(run.acknowledged, 42U);
    return vfs.operations() - before;
  }

  // In every case it opens, has all acknowledged entries in order, and accepts more.
  void expect_intact(const Reference& run) {
    auto file = SqliteFile::open(folder / "journal.db");
    ASSERT_TRUE(file) << file.error().text();
    std::vector<Entry> entries = file->take_entries();
    ASSERT_GE(entries.size(), run.acknowledged) << "an acknowledged entry is lost";
    for (std::size_t i = 0; i < entries.size(); ++i) ASSERT_EQ(entries[i].sequence, i + 1);
    std::vector<Entry> more{{entries.size() + 1, {}, "step", "after"}};
    ASSERT_TRUE(file->append(more));
  }

  void fail_everywhere(FaultyVfs::Fault fault, ErrorCode expected) {
    FaultyVfs vfs;
    std::uint64_t operations = operations_of_reference(vfs);
    ASSERT_GT(operations, 50U);
    std::uint64_t errors = 0;
    for (std::uint64_t n = 1; n <= operations; ++n) {
      SCOPED_TRACE("operation " + std::to_string(n));
      clear_folder();
      vfs.arm(fault, n);
      Reference run = run_reference();
      if (run.error) {
        ++errors;
        ASSERT_EQ(run.error->code, expected) << run.error->text();
      }
      vfs.arm(FaultyVfs::Fault::none, 0);
      expect_intact(run);
    }
    // Some operations may fail without an error (the checkpoint at close).
    EXPECT_GT(errors, operations / 2);
  }

  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  fs::path folder = temporary_.path();
};

TEST_F(FaultyDisk, an_io_error_at_any_operation_is_a_clean_error) {
  fail_everywhere(FaultyVfs::Fault::io_error, ErrorCode::journal_failed);
}

TEST_F(FaultyDisk, a_full_disk_at_any_operation_is_reported_as_such) {
  fail_everywhere(FaultyVfs::Fault::disk_full, ErrorCode::disk_full);
}

TEST_F(FaultyDisk, losing_power_at_any_operation_loses_no_acknowledged_entry) {
  FaultyVfs vfs;
  std::uint64_t operations = operations_of_reference(vfs);
  Random random(2026);
  for (std::uint64_t n = 1; n <= operations; ++n) {
    SCOPED_TRACE("operation " + std::to_string(n));
    clear_folder();
    vfs.arm(FaultyVfs::Fault::power_loss, n);
    Reference run = run_reference();
    vfs.restore_after_power_loss(random);
    vfs.arm(FaultyVfs::Fault::none, 0);
    expect_intact(run);
  }
}

}  // namespace
}  // namespace specgen
