#include "runtime/message_socket.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/environment.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"
#include "runtime/worker_thread.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(MessageSocket, messages_arrive_complete_and_in_order_with_their_descriptors) {
  RealRuntime runtime;
  auto pair = MessageSocket::make_pair(runtime.loop, runtime.driver);
  ASSERT_TRUE(pair);
  auto& [ours, theirs] = *pair;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  Fd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  ASSERT_TRUE(runtime.loop.run(ours.send("one", {write_end.get()})));
  ASSERT_TRUE(runtime.loop.run(ours.send("")));
  ASSERT_TRUE(runtime.loop.run(ours.send(std::string(100'000, 'x'))));
  MessageReader reader(theirs.get());
  auto one = reader.receive();
  ASSERT_TRUE(one && *one);
  EXPECT_EQ((*one)->body, "one");
  ASSERT_EQ((*one)->descriptors.size(), 1U);
  EXPECT_EQ(::write((*one)->descriptors[0].get(), "!", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '!');
  auto two = reader.receive();
  ASSERT_TRUE(two && *two);
  EXPECT_EQ((*two)->body, "");
  auto three = reader.receive();
  ASSERT_TRUE(three && *three);
  EXPECT_EQ((*three)->body.size(), 100'000U);
}

TEST(MessageSocket, a_large_message_waits_for_its_reader) {
  RealRuntime runtime;
  auto pair = MessageSocket::make_pair(runtime.loop, runtime.driver);
  ASSERT_TRUE(pair);
  std::string large(5'000'000, 'y');
  WorkerThread other(runtime.loop, runtime.driver);
  auto reading = [fd = pair->second.get()] { return MessageReader(fd).receive(); };
  auto both = [&](Loop& loop) -> Task<Result<std::string>> {
    TaskGroup group(loop);
    group.spawn(pair->first.send(large));
    auto message = CO_TRY(co_await other.run(reading));
    CO_TRY(co_await group.join());
    co_return message->body;
  };
  auto read = runtime.loop.run(both(runtime.loop));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, large);
}

TEST(MessageSocket, a_closed_peer_is_nullopt_and_half_a_message_is_an_error) {
  RealRuntime runtime;
  auto pair = MessageSocket::make_pair(runtime.loop, runtime.driver);
  ASSERT_TRUE(pair);
  ASSERT_TRUE(send_message(pair->second.get(), "last"));
  pair->second.reset();
  auto last = runtime.loop.run(pair->first.receive());
  ASSERT_TRUE(last && *last);
  auto end = runtime.loop.run(pair->first.receive());
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);

  auto cut = MessageSocket::make_pair(runtime.loop, runtime.driver);
  ASSERT_TRUE(cut);
  ASSERT_EQ(::send(cut->second.get(), "\x09\0\0\0\0\0\0\0abc", 11, 0), 11);
  cut->second.reset();
  auto half = runtime.loop.run(cut->first.receive());
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ErrorCode::bad_message);
}

TEST(MessageSocket, a_message_with_a_false_header_is_an_error) {
  RealRuntime runtime;
  for (std::string_view lie : {std::string_view("\xff\xff\xff\xff\0\0\0\0", 8),
                               std::string_view("\1\0\0\0\x07\0\0\0x", 9)}) {
    auto pair = MessageSocket::make_pair(runtime.loop, runtime.driver);
    ASSERT_TRUE(pair);
    ASSERT_EQ(::send(pair->second.get(), lie.data(), lie.size(), 0),
              static_cast<ssize_t>(lie.size()));
    auto message = runtime.loop.run(pair->first.receive());
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().code, ErrorCode::bad_message);
  }
}

TEST(MessageSocket, a_child_gets_its_descriptors_as_3_and_4_and_no_other) {
  RealRuntime runtime;
  Processes processes(runtime.loop, runtime.driver);
  Fd a(::memfd_create("a", MFD_CLOEXEC)), b(::memfd_create("b", MFD_CLOEXEC));
  ASSERT_EQ(write_all(a.get(), "first"), 0);
  ASSERT_EQ(write_all(b.get(), "second"), 0);
  auto run = runtime.loop.run(processes.run(
      {.argv = {"sh", "-c",
                "cat /proc/self/fd/3 /proc/self/fd/4; [ -e /proc/self/fd/5 ] || echo ."},
       .descriptors = {a.get(), b.get()},
       .time_limit = 10s}));
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->output, "firstsecond.\n");
}

}  // namespace
}  // namespace specgen
