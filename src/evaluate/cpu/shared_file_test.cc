#include "evaluate/cpu/shared_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace specgen {
namespace {

SharedFile made(std::size_t bytes) {
  auto file = SharedFile::make("test", bytes);
  EXPECT_TRUE(file.has_value());
  return std::move(*file);
}

// What a process with the descriptor sees.
struct Mapping {
  Mapping(int fd, std::size_t size, int protection)
      : bytes(size), address(::mmap(nullptr, size, protection, MAP_SHARED, fd, 0)) {}
  ~Mapping() {
    if (ok()) ::munmap(address, bytes);
  }
  bool ok() const { return address != MAP_FAILED; }
  std::size_t bytes;
  void* address;
};

TEST(SharedFile, is_shared_by_both_sides) {
  SharedFile file = made(page_size());
  file.bytes()[17] = std::byte{42};
  Mapping theirs(file.fd(), page_size(), PROT_READ);
  ASSERT_TRUE(theirs.ok());
  EXPECT_EQ(static_cast<std::byte*>(theirs.address)[17], std::byte{42});
  file.bytes()[17] = std::byte{43};
  EXPECT_EQ(static_cast<std::byte*>(theirs.address)[17], std::byte{43});
}

TEST(SharedFile, once_sealed_can_be_mapped_for_reading_only) {
  SharedFile file = made(page_size());
  ASSERT_TRUE(Mapping(file.fd(), page_size(), PROT_READ | PROT_WRITE).ok());
  ASSERT_TRUE(file.seal().has_value());
  EXPECT_FALSE(Mapping(file.fd(), page_size(), PROT_READ | PROT_WRITE).ok());
  Mapping reading(file.fd(), page_size(), PROT_READ);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(::mprotect(reading.address, page_size(), PROT_READ | PROT_WRITE), -1);
  file.bytes()[0] = std::byte{9};  // our own mapping stays
  EXPECT_EQ(*static_cast<std::byte*>(reading.address), std::byte{9});
}

TEST(SharedFile, once_sealed_keeps_its_size_and_refuses_writes) {
  SharedFile file = made(page_size());
  ASSERT_TRUE(file.seal().has_value());
  EXPECT_EQ(::ftruncate(file.fd(), 0), -1);
  EXPECT_EQ(::ftruncate(file.fd(), static_cast<off_t>(2 * page_size())), -1);
  EXPECT_EQ(::pwrite(file.fd(), "x", 1, 0), -1);
  EXPECT_EQ(::fcntl(file.fd(), F_ADD_SEALS, F_SEAL_WRITE), -1) << "seals cannot be added any more";
  std::string again = "/proc/self/fd/" + std::to_string(file.fd());
  Fd reopened(::open(again.c_str(), O_RDWR | O_CLOEXEC));
  if (reopened) {
    EXPECT_FALSE(Mapping(reopened.get(), page_size(), PROT_READ | PROT_WRITE).ok());
    EXPECT_EQ(::pwrite(reopened.get(), "x", 1, 0), -1);
  }
}

TEST(SharedFile, can_be_empty) {
  SharedFile file = made(0);
  EXPECT_GE(file.fd(), 0);
  EXPECT_TRUE(file.bytes().empty());
  EXPECT_TRUE(file.seal().has_value());
}

TEST(SharedFile, keeps_its_memory_when_moved) {
  SharedFile file = made(page_size());
  file.bytes()[0] = std::byte{5};
  int fd = file.fd();
  SharedFile taken = std::move(file);
  EXPECT_EQ(taken.fd(), fd);
  EXPECT_EQ(taken.bytes()[0], std::byte{5});
  SharedFile other = made(2 * page_size());
  other = std::move(taken);
  EXPECT_EQ(other.bytes().size(), page_size());
  EXPECT_EQ(other.bytes()[0], std::byte{5});
}

TEST(Pages, sizes_are_rounded_up) {
  EXPECT_EQ(round_up_to_pages(0), 0U);
  EXPECT_EQ(round_up_to_pages(1), page_size());
  EXPECT_EQ(round_up_to_pages(page_size()), page_size());
  EXPECT_EQ(round_up_to_pages(page_size() + 1), 2 * page_size());
}

}  // namespace
}  // namespace specgen
