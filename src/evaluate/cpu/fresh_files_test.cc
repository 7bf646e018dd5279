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

// Takes them, writes into them and gives them back, as a candidate's lives do.
std::set<ino_t> live(FreshFiles& files, std::size_t count, std::size_t bytes, Access access) {
  std::set<ino_t> seen;
  std::vector<SharedFile> taken;
  for (std::size_t i = 0; i < count; ++i) {
    taken.push_back(files.take(bytes, access).value());
    SharedFile& file = taken.back();
    EXPECT_EQ(file.bytes().size(), bytes);
    EXPECT_TRUE(std::ranges::all_of(file.bytes(), [](std::byte b) { return b == std::byte{0}; }))
        << "it was used before";
    std::ranges::fill(file.bytes(), std::byte{7});
    seen.insert(identity_of(file));
  }
  for (SharedFile& file : taken) files.give_back(std::move(file), access, {});
  return seen;
}

TEST(FreshFiles, what_the_last_candidate_took_is_made_ahead_and_what_it_had_goes) {
  FreshFiles files(MiB(1));
  EXPECT_FALSE(files.step()) << "nothing is known yet";
  auto first = live(files, 3, kPage, Access::writing);
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(steps_of(files), 6U) << "three go, three are made";
  auto second = live(files, 3, kPage, Access::writing);
  EXPECT_EQ(steps_of(files), 6U);
  // The third is not timed: what is ready waits for the fourth.
  EXPECT_EQ(steps_of(files), 0U);
  auto fourth = live(files, 4, kPage, Access::writing);
  EXPECT_EQ(steps_of(files), 8U);
}

TEST(FreshFiles, files_for_reading_are_sealed_and_no_others) {
  FreshFiles files(MiB(1));
  for (int life = 0; life < 2; ++life) {
    SharedFile input = files.take(kPage, Access::reading).value();
    SharedFile output = files.take(kPage, Access::writing).value();
    EXPECT_FALSE(input.seal()) << "it is sealed already";
    EXPECT_TRUE(output.seal());
    files.give_back(std::move(input), Access::reading, {});
    steps_of(files);
  }
}

TEST(FreshFiles, what_another_task_took_goes) {
  FreshFiles files(MiB(1));
  live(files, 2, kPage, Access::writing);
  steps_of(files);
  live(files, 1, 2 * kPage, Access::writing);
  EXPECT_EQ(steps_of(files), 2U) << "one goes, one is made";
  live(files, 1, 2 * kPage, Access::writing);
  EXPECT_EQ(steps_of(files), 2U);
}

TEST(FreshFiles, no_more_is_held_than_was_said) {
  FreshFiles files(Bytes{2 * kPage});
  live(files, 5, kPage, Access::writing);
  EXPECT_EQ(steps_of(files), 4U) << "three went at once; two go, two are made";
  live(files, 5, kPage, Access::writing);
  EXPECT_EQ(steps_of(files), 4U);
}

}  // namespace
}  // namespace specgen
