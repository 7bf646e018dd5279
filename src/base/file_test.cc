#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <set>

namespace specgen {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  File() {
    std::string pattern = testing::TempDir() + "specgen_file_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~File() override { fs::remove_all(folder_); }

  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.insert(entry.path().filename());
    return all;
  }

  fs::path folder_;
};

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1 || errno != EBADF;
}

TEST_F(File, bytes_are_read_as_they_were_written) {
  std::string bytes("line\r\n\0\xff end", 12);
  ASSERT_TRUE(write_file_durably(folder_ / "a", bytes).has_value());
  EXPECT_EQ(read_file(folder_ / "a").value(), bytes);
}

TEST_F(File, a_file_of_several_chunks_is_read_completely) {
  std::string bytes;
  for (int i = 0; bytes.size() < 200'000; ++i) bytes += std::to_string(i);
  ASSERT_TRUE(write_file_durably(folder_ / "a", bytes).has_value());
  EXPECT_EQ(read_file(folder_ / "a").value(), bytes);
}

TEST_F(File, writing_replaces_the_file_and_leaves_no_temporary_file) {
  ASSERT_TRUE(write_file_durably(folder_ / "a", "a long first version").has_value());
  ASSERT_TRUE(write_file_durably(folder_ / "a", "second").has_value());
  EXPECT_EQ(read_file(folder_ / "a").value(), "second");
  EXPECT_EQ(names(), std::set<std::string>{"a"});
}

TEST_F(File, a_failed_write_changes_nothing) {
  fs::create_directory(folder_ / "taken");
  Result<void> written = write_file_durably(folder_ / "taken", "x");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::system_call);
  EXPECT_EQ(names(), std::set<std::string>{"taken"});
  EXPECT_TRUE(fs::is_directory(folder_ / "taken"));
}

TEST_F(File, writing_into_a_missing_folder_names_the_path) {
  Result<void> written = write_file_durably(folder_ / "none" / "a", "x");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::file_not_found);
  EXPECT_NE(written.error().context.find("none/a"), std::string::npos);
  EXPECT_EQ(sync_folder(folder_ / "none").error().code, ErrorCode::file_not_found);
}

TEST_F(File, a_missing_file_is_not_found_and_named) {
  Result<std::string> read = read_file(folder_ / "missing.toml");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::file_not_found);
  EXPECT_NE(read.error().context.find("missing.toml"), std::string::npos);
}

TEST_F(File, a_folder_cannot_be_read_as_a_file) {
  EXPECT_EQ(read_file(folder_).error().code, ErrorCode::system_call);
}

TEST_F(File, a_file_over_the_limit_is_refused) {
  ASSERT_TRUE(write_file_durably(folder_ / "a", std::string(1024, 'x')).has_value());
  EXPECT_EQ(read_file(folder_ / "a", KiB(1)).value().size(), 1024u);
  Result<std::string> over = read_file(folder_ / "a", Bytes{1023});
  ASSERT_FALSE(over.has_value());
  EXPECT_EQ(over.error().code, ErrorCode::file_too_large);
  EXPECT_NE(over.error().context.find("1023 B"), std::string::npos);
}

TEST_F(File, reading_an_endless_file_stops_at_the_limit) {
  EXPECT_EQ(read_file("/dev/zero", MiB(1)).error().code, ErrorCode::file_too_large);
}

TEST(Fd, closes_on_destruction) {
  int number = -1;
  {
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = fd.get();
    ASSERT_TRUE(fd);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, reset_closes_once_and_leaves_it_empty) {
  Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int number = fd.get();
  fd.reset();
  EXPECT_FALSE(fd);
  EXPECT_FALSE(is_open(number));
  Fd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));  // reuses the number
  fd.reset();
  EXPECT_TRUE(is_open(other.get()));
}

TEST(Fd, moving_transfers_the_descriptor) {
  Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int number = first.get();
  Fd second(std::move(first));
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
  second = Fd();
  EXPECT_FALSE(is_open(number)) << "what was held before is closed by an assignment";
}

TEST_F(File, a_program_is_found_on_the_path_or_by_its_own_path) {
  EXPECT_EQ(find_program("sh").filename(), "sh");
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program-here"), fs::path());
  EXPECT_EQ(find_program((folder_ / "none").string()), fs::path());
}

TEST_F(File, a_file_that_is_not_executable_is_not_a_program) {
  std::ofstream(folder_ / "notes") << "text";
  EXPECT_EQ(find_program((folder_ / "notes").string()), fs::path());
  EXPECT_EQ(find_program(folder_.string()), fs::path());
  fs::permissions(folder_ / "notes", fs::perms::owner_all);
  EXPECT_EQ(find_program((folder_ / "notes").string()), folder_ / "notes");
}

TEST(ProgramFolder, contains_the_running_program) {
  EXPECT_TRUE(program_folder().is_absolute());
  EXPECT_EQ(fs::canonical("/proc/self/exe").parent_path(), program_folder());
}

}  // namespace
}  // namespace specgen
