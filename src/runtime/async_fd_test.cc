#include "runtime/async_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "runtime/race.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

struct Ends {
  Fd left;   // a pipe's read end
  Fd right;  // a pipe's write end
};

Ends make_socket_pair() {
  int fds[2];
  SG_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "socketpair");
  return {Fd(fds[0]), Fd(fds[1])};
}

Ends make_pipe() {
  int fds[2];
  SG_ASSERT(::pipe2(fds, O_CLOEXEC) == 0, "pipe2");
  return {Fd(fds[0]), Fd(fds[1])};
}

// Megabytes in which every offset is recognisable.
std::string much() {
  std::string bytes;
  for (std::uint32_t i = 0; bytes.size() < (4u << 20); ++i) bytes += std::to_string(i) + ' ';
  return bytes;
}

class AsyncFds : public testing::Test {
 protected:
  std::unique_ptr<AsyncFd> open(Fd fd) {
    return AsyncFd::open(runtime_.loop, runtime_.driver, std::move(fd)).value();
  }
  RealRuntime runtime_;
};

Task<std::string> read_to_end(AsyncFd& fd) {
  std::string all;
  std::array<char, 5000> buffer;
  while (true) {
    std::size_t n = (co_await fd.read_some(buffer)).value();
    if (n == 0) co_return all;
    all.append(buffer.data(), n);
  }
}

Task<void> write_and_close(std::unique_ptr<AsyncFd> fd, std::string_view bytes) {
  EXPECT_TRUE((co_await fd->write_all(bytes)).has_value());
}

TEST_F(AsyncFds, megabytes_through_a_pipe_arrive_completely_before_the_end) {
  Ends pipe = make_pipe();
  auto reader = open(std::move(pipe.left));
  std::string bytes = much();
  TaskGroup group(runtime_.loop);
  group.spawn(write_and_close(open(std::move(pipe.right)), bytes));
  EXPECT_TRUE(runtime_.loop.run(read_to_end(*reader)) == bytes);
}

TEST_F(AsyncFds, a_writer_waits_for_a_slow_reader) {
  Ends pipe = make_pipe();
  auto reader = open(std::move(pipe.left));
  std::string bytes = much();
  TaskGroup group(runtime_.loop);
  group.spawn(write_and_close(open(std::move(pipe.right)), bytes));
  runtime_.loop.run(pass(runtime_.loop, 10));
  EXPECT_EQ(group.size(), 1u) << "a pipe does not hold megabytes";
  EXPECT_TRUE(runtime_.loop.run(read_to_end(*reader)) == bytes);
  runtime_.loop.run(group.join()).value();
}

TEST_F(AsyncFds, both_directions_of_a_socket_flow_at_once) {
  Ends sockets = make_socket_pair();
  auto left = open(std::move(sockets.left));
  auto right = open(std::move(sockets.right));
  std::string bytes = much();
  struct Talk {
    static Task<void> send(AsyncFd& fd, std::string_view what) {
      EXPECT_TRUE((co_await fd.write_all(what)).has_value());
      ::shutdown(fd.get(), SHUT_WR);
    }
    static Task<void> hear(AsyncFd& fd, std::string& into) { into = co_await read_to_end(fd); }
  };
  std::string heard_left, heard_right;
  TaskGroup group(runtime_.loop);
  group.spawn(Talk::send(*left, bytes));
  group.spawn(Talk::send(*right, bytes));
  group.spawn(Talk::hear(*left, heard_left));
  group.spawn(Talk::hear(*right, heard_right));
  runtime_.loop.run(group.join()).value();
  EXPECT_TRUE(heard_left == bytes);
  EXPECT_TRUE(heard_right == bytes);
}

TEST_F(AsyncFds, bytes_written_before_the_peer_closed_are_read_before_the_end) {
  Ends sockets = make_socket_pair();
  auto left = open(std::move(sockets.left));
  ASSERT_EQ(::write(sockets.right.get(), "last bytes", 10), 10);
  sockets.right.reset();
  EXPECT_EQ(runtime_.loop.run(read_to_end(*left)), "last bytes");
}

TEST_F(AsyncFds, a_waiting_reader_sees_the_end_when_the_peer_closes) {
  Ends pipe = make_pipe();
  auto reader = open(std::move(pipe.left));
  auto closer = [](Loop& loop, Fd fd) -> Task<void> {
    co_await pass(loop, 5);
    fd.reset();
  };
  TaskGroup group(runtime_.loop);
  group.spawn(closer(runtime_.loop, std::move(pipe.right)));
  EXPECT_EQ(runtime_.loop.run(read_to_end(*reader)), "");
}

TEST_F(AsyncFds, writing_to_a_closed_peer_is_an_error_and_not_a_signal) {
  Ends pipe = make_pipe();
  auto writer = open(std::move(pipe.right));
  pipe.left.reset();
  Result<void> written = runtime_.loop.run(writer->write_all("anyone?"));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::system_call);
  EXPECT_NE(written.error().context.find("Broken pipe"), std::string::npos);
}

TEST_F(AsyncFds, a_waiting_writer_fails_when_its_peer_closes) {
  for (bool socket : {false, true}) {
    Ends ends = socket ? make_socket_pair() : make_pipe();
    auto writer = open(std::move(ends.right));
    std::string bytes = much();
    auto closer = [](Loop& loop, Fd fd) -> Task<void> {
      co_await pass(loop, 5);
      fd.reset();
    };
    TaskGroup group(runtime_.loop);
    group.spawn(closer(runtime_.loop, std::move(ends.left)));
    EXPECT_FALSE(runtime_.loop.run(writer->write_all(bytes)).has_value());
  }
}

TEST_F(AsyncFds, cancelling_the_task_that_owns_it_closes_it) {
  Ends sockets = make_socket_pair();
  auto hold = [](std::unique_ptr<AsyncFd> fd) -> Task<void> {
    std::array<char, 16> buffer;
    (void)co_await fd->read_some(buffer);
    ADD_FAILURE() << "nothing was written";
  };
  {
    TaskGroup group(runtime_.loop);
    group.spawn(hold(open(std::move(sockets.left))));
    runtime_.loop.run(pass(runtime_.loop, 3));
  }
  char byte;
  EXPECT_EQ(::recv(sockets.right.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST_F(AsyncFds, a_read_cancelled_after_its_bytes_arrived_leaves_them) {
  Ends sockets = make_socket_pair();
  auto left = open(std::move(sockets.left));
  struct Reader {
    static Task<void> run(AsyncFd& fd) {
      std::array<char, 16> buffer;
      (void)co_await fd.read_some(buffer);
      ADD_FAILURE() << "it was cancelled before its turn";
    }
  };
  {
    TaskGroup group(runtime_.loop);
    group.spawn(Reader::run(*left));
    runtime_.loop.run(pass(runtime_.loop, 3));
    ASSERT_EQ(::write(sockets.right.get(), "kept", 4), 4);
    runtime_.driver.poll();  // the reader is woken, but not yet resumed
  }
  sockets.right.reset();
  EXPECT_EQ(runtime_.loop.run(read_to_end(*left)), "kept");
}

TEST_F(AsyncFds, a_cancelled_write_has_sent_a_prefix) {
  Ends sockets = make_socket_pair();
  auto right = open(std::move(sockets.right));
  std::string bytes = much();
  auto runner = [](Loop& loop, AsyncFd& fd, std::string_view what) -> Task<void> {
    auto outcome = co_await race(fd.write_all(what), pass(loop, 5));
    EXPECT_NE(outcome.second(), nullptr);
    ::shutdown(fd.get(), SHUT_WR);
  };
  runtime_.loop.run(runner(runtime_.loop, *right, bytes));
  auto left = open(std::move(sockets.left));
  std::string arrived = runtime_.loop.run(read_to_end(*left));
  EXPECT_GT(arrived.size(), 0u);
  EXPECT_LT(arrived.size(), bytes.size());
  EXPECT_TRUE(bytes.starts_with(arrived));
}

TEST_F(AsyncFds, may_be_destroyed_while_its_event_is_dispatched) {
  // Both are ready in one batch; the first handler frees both.
  Ends one = make_socket_pair();
  Ends two = make_socket_pair();
  struct Reader {
    static Task<void> run(AsyncFd& fd, TaskGroup& group, int& reads) {
      std::array<char, 16> buffer;
      (void)co_await fd.read_some(buffer);
      ++reads;
      group.cancel();
    }
  };
  auto first = open(std::move(one.left));
  auto second = open(std::move(two.left));
  int reads = 0;
  TaskGroup group(runtime_.loop);
  group.spawn(Reader::run(*first, group, reads));
  group.spawn(Reader::run(*second, group, reads));
  runtime_.loop.run(pass(runtime_.loop, 2));
  ASSERT_EQ(::write(one.right.get(), "x", 1), 1);
  ASSERT_EQ(::write(two.right.get(), "x", 1), 1);
  runtime_.loop.run(group.join()).value();
  EXPECT_EQ(reads, 1);
}

TEST_F(AsyncFds, a_stream_that_always_has_data_does_not_starve_other_tasks) {
  // There are bytes for a thousand small reads; a task that is ready must not wait for all of them.
  Ends pipe = make_pipe();
  ASSERT_EQ(::write(pipe.right.get(), std::string(1000, 'x').data(), 1000), 1000);
  auto reader = open(std::move(pipe.left));
  auto read_singly = [](AsyncFd& fd, int& reads) -> Task<void> {
    std::array<char, 1> byte;
    for (; reads < 1000; ++reads) (void)co_await fd.read_some(byte);
  };
  auto look = [](Loop& loop, const int& reads) -> Task<int> {
    co_await loop.yield();
    co_return reads;
  };
  int reads = 0;
  TaskGroup group(runtime_.loop);
  group.spawn(read_singly(*reader, reads));
  EXPECT_LT(runtime_.loop.run(look(runtime_.loop, reads)), 100);
  runtime_.loop.run(group.join()).value();
  EXPECT_EQ(reads, 1000);
}

TEST_F(AsyncFds, an_empty_write_is_done_at_once) {
  Ends pipe = make_pipe();
  auto writer = open(std::move(pipe.right));
  EXPECT_TRUE(runtime_.loop.run(writer->write_all("")).has_value());
}

TEST_F(AsyncFds, a_regular_file_is_refused_and_closed) {
  std::string path = testing::TempDir() + "specgen_async_fd_XXXXXX";
  Fd file(::mkostemp(path.data(), O_CLOEXEC));
  ASSERT_TRUE(file);
  ::unlink(path.c_str());
  int number = file.get();
  auto opened = AsyncFd::open(runtime_.loop, runtime_.driver, std::move(file));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::system_call);
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
  EXPECT_FALSE(AsyncFd::open(runtime_.loop, runtime_.driver, Fd()).has_value());
}

TEST_F(AsyncFds, close_their_descriptors) {
  std::size_t before = open_descriptors();
  {
    Ends sockets = make_socket_pair();
    auto left = open(std::move(sockets.left));
    auto right = open(std::move(sockets.right));
    EXPECT_EQ(open_descriptors(), before + 2);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace specgen
