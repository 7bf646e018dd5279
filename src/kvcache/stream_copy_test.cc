#include "kvcache/stream_copy.h"

#include <gtest/gtest.h>

#include <string>

namespace specgen {
namespace {

TEST(StreamCopy, copies_every_length_and_alignment_exactly) {
  std::string from(1000, ' ');
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + i / 256);
  for (std::size_t bytes : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 700}) {
    for (std::size_t to_at = 0; to_at < 70; to_at += 3) {
      for (std::size_t from_at : {0, 1, 16, 33}) {
        std::string to(1000, '-');
        copy_and_fetch_more(to.data() + to_at, from.data() + from_at, bytes);
        std::string expected(1000, '-');
        expected.replace(to_at, bytes, from, from_at, bytes);
        ASSERT_EQ(to, expected) << bytes << " bytes from " << from_at << " to " << to_at;
      }
    }
  }
}

}  // namespace
}  // namespace specgen
