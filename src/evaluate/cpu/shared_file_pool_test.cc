#include "evaluate/cpu/shared_file_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

namespace specgen {
namespace {

using Access = SharedFilePool::Access;

// A process that the pool takes for a user of a file.
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

ino_t identity_of(const SharedFile& file) {
  struct stat facts{};
  EXPECT_EQ(::fstat(file.fd(), &facts), 0);
  return facts.st_ino;
}

// The file that was given back, if it is reused.
std::optional<SharedFile> again(SharedFilePool& pool, std::size_t bytes, Access access,
                                ino_t file) {
  std::vector<SharedFile> taken;
  for (int i = 0; i < 20; ++i) {
    taken.push_back(pool.take(bytes, access).value());
    if (identity_of(taken.back()) == file) return std::move(taken.back());
  }
  return std::nullopt;
}

TEST(SharedFilePool, reuses_a_file_only_after_all_its_users_have_ended) {
  SharedFilePool pool(MiB(64), 1);
  SharedFile file = pool.take(100'000, Access::writing).value();
  const ino_t which = identity_of(file);
  Sleeper candidate, baseline;
  pool.give_back(std::move(file), Access::writing, {candidate.fd, baseline.fd});
  EXPECT_FALSE(again(pool, 100'000, Access::writing, which));
  candidate.end();
  EXPECT_FALSE(again(pool, 100'000, Access::writing, which));
  baseline.end();
  EXPECT_TRUE(again(pool, 100'000, Access::writing, which));
}

TEST(SharedFilePool, overwrites_what_was_written) {
  SharedFilePool pool(MiB(64), 1);
  SharedFile file = pool.take(100'000, Access::writing).value();
  const ino_t which = identity_of(file);
  std::ranges::fill(file.bytes(), std::byte{42});
  pool.give_back(std::move(file), Access::writing, {});
  auto reused = again(pool, 50'000, Access::writing, which);
  ASSERT_TRUE(reused);
  EXPECT_EQ(std::ranges::count(reused->bytes(), std::byte{42}), 0);
}

TEST(SharedFilePool, keeps_sealed_files_for_reading) {
  SharedFilePool pool(MiB(64), 1);
  SharedFile file = pool.take(page_size(), Access::reading).value();
  EXPECT_EQ(::mmap(nullptr, page_size(), PROT_WRITE, MAP_SHARED, file.fd(), 0), MAP_FAILED);
  const ino_t which = identity_of(file);
  pool.give_back(std::move(file), Access::reading, {});
  EXPECT_FALSE(again(pool, page_size(), Access::writing, which)) << "it is sealed";
  EXPECT_TRUE(again(pool, page_size(), Access::reading, which));
}

TEST(SharedFilePool, reuses_a_file_of_suitable_size) {
  SharedFilePool pool(MiB(64), 1);
  SharedFile file = pool.take(1'000'000, Access::writing).value();
  const ino_t which = identity_of(file);
  pool.give_back(std::move(file), Access::writing, {});
  EXPECT_FALSE(again(pool, 100'000, Access::writing, which));
  EXPECT_FALSE(again(pool, 1'000'001, Access::writing, which));
  EXPECT_TRUE(again(pool, 400'000, Access::writing, which));
  EXPECT_TRUE(pool.take(0, Access::writing)->bytes().empty());
}

TEST(SharedFilePool, keeps_the_latest_files_up_to_its_limit) {
  constexpr std::size_t kEach = 100 * 1024;
  SharedFilePool pool(KiB(300), 1);
  auto access = [](std::size_t i) { return i < 2 ? Access::reading : Access::writing; };
  std::vector<SharedFile> files;
  std::vector<ino_t> which;
  for (std::size_t i = 0; i < 4; ++i) {
    files.push_back(pool.take(kEach, access(i)).value());
    which.push_back(identity_of(files.back()));
  }
  for (std::size_t i = 0; i < 4; ++i) pool.give_back(std::move(files[i]), access(i), {});
  std::set<ino_t> reused;
  for (int i = 0; i < 40; ++i) {
    files.push_back(pool.take(kEach, i % 2 ? Access::reading : Access::writing).value());
    reused.insert(identity_of(files.back()));
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(reused.contains(which[i]), i > 0) << i;
}

}  // namespace
}  // namespace specgen
