#include "evaluate/cpu/shared_file_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace specgen {
namespace {

using Access = SharedFilePool::Access;

// A process that has something mapped, for all that the pool knows.
class Sleeper {
 public:
  Sleeper() {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::pause();
      ::_exit(0);
    }
    fd = std::make_shared<const Fd>(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~Sleeper() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::shared_ptr<const Fd> fd;

 private:
  pid_t pid_ = 0;
};

TEST(SharedFilePool, lends_a_file_again_only_when_all_who_had_it_are_gone) {
  SharedFilePool pool(MiB(64), 1);
  SharedFile file = pool.take(100'000, Access::writing).value();
  const std::byte* memory = file.bytes().data();
  Sleeper candidate, baseline;
  pool.give_back(std::move(file), Access::writing, {candidate.fd, baseline.fd});
  SharedFile other = pool.take(100'000, Access::writing).value();
  EXPECT_NE(other.bytes().data(), memory);
  candidate.end();
  EXPECT_NE(pool.take(100'000, Access::writing)->bytes().data(), memory);
  baseline.end();
  EXPECT_EQ(pool.take(100'000, Access::writing)->bytes().data(), memory);
}

TEST(SharedFilePool, a_file_for_reading_is_sealed_and_stays_one) {
  SharedFilePool pool(MiB(64), 1);
  SharedFile file = pool.take(page_size(), Access::reading).value();
  EXPECT_EQ(::mmap(nullptr, page_size(), PROT_WRITE, MAP_SHARED, file.fd(), 0), MAP_FAILED);
  const int fd = file.fd();
  pool.give_back(std::move(file), Access::reading, {});
  EXPECT_NE(pool.take(page_size(), Access::writing)->fd(), fd) << "nobody could write to it";
  EXPECT_EQ(pool.take(page_size(), Access::reading)->fd(), fd);
}

TEST(SharedFilePool, what_is_lent_is_large_enough_and_not_much_too_large) {
  SharedFilePool pool(MiB(64), 1);
  pool.give_back(pool.take(1'000'000, Access::writing).value(), Access::writing, {});
  EXPECT_EQ(pool.take(100'000, Access::writing)->bytes().size(), 100'000u);
  EXPECT_EQ(pool.take(1'000'001, Access::writing)->bytes().size(), 1'000'001u);
  EXPECT_EQ(pool.take(400'000, Access::writing)->bytes().size(), 1'000'000u);
  EXPECT_TRUE(pool.take(0, Access::writing)->bytes().empty());
}

TEST(SharedFilePool, keeps_no_more_than_it_may_and_the_latest) {
  SharedFilePool pool(KiB(300), 1);
  std::vector<SharedFile> files;
  for (int i = 0; i < 4; ++i) files.push_back(pool.take(100 * 1024, Access::writing).value());
  std::set<const std::byte*> latest;
  for (std::size_t i = 1; i < 4; ++i) latest.insert(files[i].bytes().data());
  for (SharedFile& file : files) pool.give_back(std::move(file), Access::writing, {});
  std::vector<SharedFile> again;
  for (int i = 0; i < 3; ++i) again.push_back(pool.take(100 * 1024, Access::writing).value());
  for (const SharedFile& file : again) EXPECT_TRUE(latest.contains(file.bytes().data()));

  pool.give_back(pool.take(400 * 1024, Access::reading).value(), Access::reading, {});
  EXPECT_EQ(pool.take(350 * 1024, Access::reading)->bytes().size(), 350u * 1024);
}

}  // namespace
}  // namespace specgen
