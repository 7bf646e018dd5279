#include "evaluate/node/frames.h"

#include <fcntl.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "runtime/testing.h"

namespace specgen {
namespace {

std::string header_of(std::uint32_t length) {
  std::string header;
  for (int i = 0; i < 4; ++i) header += static_cast<char>((length >> (8 * i)) & 0xff);
  return header;
}

// What a reader makes of these bytes, written in pieces of that size and then closed.
struct Read {
  std::vector<std::string> frames;
  std::optional<Error> error;
};
Read read_all(const std::string& bytes, std::size_t piece) {
  RealRuntime runtime;
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  auto input = AsyncFd::open(runtime.loop, runtime.driver, Fd(ends[0]));
  auto output = AsyncFd::open(runtime.loop, runtime.driver, Fd(ends[1]));
  auto write = [](Loop& loop, std::unique_ptr<AsyncFd> pipe, std::string all,
                  std::size_t step) -> Task<void> {
    for (std::size_t at = 0; at < all.size(); at += step) {
      if (!co_await pipe->write_all(std::string_view(all).substr(at, step))) co_return;
      co_await loop.yield();
    }
  };
  auto read = [](AsyncFd& pipe) -> Task<Read> {
    FrameReader reader(pipe);
    Read result;
    while (true) {
      auto frame = co_await reader.next();
      if (!frame) {
        result.error = frame.error();
        co_return result;
      }
      if (!*frame) co_return result;
      result.frames.push_back(std::move(**frame));
    }
  };
  auto both = [&]() -> Task<Read> {
    TaskGroup writing(runtime.loop);
    writing.spawn(write(runtime.loop, std::move(*output), bytes, piece));
    co_return co_await read(**input);
  };
  return runtime.loop.run(both());
}

TEST(Frames, any_split_of_the_bytes_gives_the_same_frames) {
  std::string bytes = framed({{"a", 1}}) + framed("ä\n") + framed(Json()) + header_of(0);
  for (std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{5}, bytes.size()}) {
    Read read = read_all(bytes, piece);
    EXPECT_FALSE(read.error.has_value());
    EXPECT_EQ(read.frames, (std::vector<std::string>{R"({"a":1})", "\"ä\\n\"", "null", ""}))
        << piece;
  }
}

TEST(Frames, the_length_counts_bytes_lowest_first) {
  std::string text(300, 'x');
  EXPECT_EQ(framed(Json(text)).substr(0, 4), header_of(302));
}

TEST(Frames, the_largest_frame_is_read_whole) {
  std::string body(kLargestFrame, ' ');
  Read read = read_all(header_of(kLargestFrame) + body, 1 << 20);
  ASSERT_EQ(read.frames.size(), 1U);
  EXPECT_EQ(read.frames[0], body);
}

TEST(Frames, a_longer_one_is_refused_before_its_bytes_are_waited_for) {
  for (std::uint32_t length : {std::uint32_t{kLargestFrame + 1}, std::uint32_t{0xffffffff}}) {
    Read read = read_all(header_of(length), 4);
    ASSERT_TRUE(read.error.has_value());
    EXPECT_EQ(read.error->code, ErrorCode::bad_message);
    EXPECT_NE(read.error->context.find(std::to_string(length)), std::string::npos);
  }
}

TEST(Frames, an_end_inside_a_frame_is_an_error) {
  std::string whole = framed({{"a", 1}});
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    Read read = read_all(whole + whole.substr(0, cut), 3);
    EXPECT_EQ(read.frames.size(), 1U);
    ASSERT_TRUE(read.error.has_value()) << cut;
    EXPECT_EQ(read.error->code, ErrorCode::bad_message);
  }
}

TEST(Frames, an_end_between_frames_is_not_an_error) {
  EXPECT_FALSE(read_all("", 1).error.has_value());
  EXPECT_FALSE(read_all(framed(1), 1).error.has_value());
}

}  // namespace
}  // namespace specgen
