#include "kvcache/checksum.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kvcache/kv_testing.h"

namespace specgen {
namespace {

TEST(Checksum, does_not_depend_on_the_split_into_pieces) {
  Random random(3);
  for (std::size_t bytes : {0, 1, 28, 240, 241, 1024, 4097, 100'000, 3'000'001}) {
    const std::string value = kv_testing::bytes_of("x", bytes);
    Checksum checksum;
    for (std::size_t at = 0; at < bytes;) {
      std::size_t count = std::min(bytes - at, 1 + random.below(70'000));
      checksum.add({value.data() + at, count});
      at += count;
    }
    EXPECT_EQ(checksum.value(), plain_checksum_of(value)) << bytes;
  }
}

TEST(Checksum, one_changed_bit_changes_it) {
  std::string value = kv_testing::bytes_of("x", 5000);
  const std::uint64_t before = plain_checksum_of(value);
  value[4321] ^= 1;
  EXPECT_NE(plain_checksum_of(value), before);
}

}  // namespace
}  // namespace specgen
