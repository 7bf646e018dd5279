#include "evaluate/cpu/fresh_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

namespace specgen {
namespace {

using Access = TensorFiles::Access;
constexpr std::size_t kPage = 4096;

ino_t identity_of(const SharedFile& file) {
  struct stat facts{};
  EXPECT_EQ(::fstat(file.fd(), &facts), 0);
  return facts.st_ino;
}

std::size_t steps_of(FreshFiles& files) {
  std::size_t steps = 0;
  while (files.step()) ++steps;
  return steps;
}

// Takes files, writes into them and gives them back.
void live(FreshFiles& files, std::size_t count, std::size_t bytes) {
  files.begin_process();
  std::vector<SharedFile> taken;
  std::set<ino_t> seen;
  for (std::size_t i = 0; i < count; ++i) {
    SharedFile& file = taken.emplace_back(files.take(bytes, Access::writing).value());
    EXPECT_EQ(file.bytes().size(), bytes);
    EXPECT_TRUE(std::ranges::all_of(file.bytes(), [](std::byte b) { return b == std::byte{0}; }))
        << "it was used before";
    std::ranges::fill(file.bytes(), std::byte{7});
    EXPECT_TRUE(seen.insert(identity_of(file)).second) << "two files share memory";
  }
  for (SharedFile& file : taken) files.give_back(std::move(file), Access::writing, {});
}

TEST(FreshFiles, allocates_ahead_what_a_process_took_and_frees_what_it_returned) {
  FreshFiles files(2, MiB(1));
  EXPECT_FALSE(files.step()) << "nothing was taken yet";
  live(files, 3, kPage);
  EXPECT_EQ(steps_of(files), 3U + 6U) << "three are freed, six allocated";
  live(files, 3, kPage);
  live(files, 3, kPage);
  EXPECT_EQ(steps_of(files), 6U + 6U) << "six were taken, so six are allocated";
  EXPECT_EQ(steps_of(files), 0U) << "a candidate that is not timed changes nothing";
  live(files, 1, kPage);
  EXPECT_EQ(steps_of(files), 1U + 3U) << "of five that were left three are too many";
  live(files, 4, kPage);
  EXPECT_EQ(steps_of(files), 4U + 8U) << "two were ready";
}

TEST(FreshFiles, files_for_reading_are_sealed_and_no_others) {
  FreshFiles files(1, MiB(1));
  for (int process = 0; process < 2; ++process) {
    files.begin_process();
    SharedFile input = files.take(kPage, Access::reading).value();
    SharedFile output = files.take(kPage, Access::writing).value();
    EXPECT_FALSE(input.seal()) << "it is sealed already";
    EXPECT_TRUE(output.seal());
    files.give_back(std::move(input), Access::reading, {});
    steps_of(files);
  }
}

TEST(FreshFiles, frees_what_another_task_took) {
  FreshFiles files(1, Bytes{2 * kPage});
  live(files, 2, kPage);
  EXPECT_EQ(steps_of(files), 2U + 2U);
  live(files, 1, 2 * kPage);
  EXPECT_EQ(steps_of(files), 1U + 1U)
      << "one file of the old task is freed, one of the new task allocated";
}

TEST(FreshFiles, stays_within_its_limit) {
  FreshFiles files(1, Bytes{2 * kPage});
  live(files, 5, kPage);
  EXPECT_EQ(steps_of(files), 4U) << "three were freed at once; two are freed, two allocated";
}

}  // namespace
}  // namespace specgen
