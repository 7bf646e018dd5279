#include "base/hash.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <set>

#include "base/sha256_x86.h"

namespace specgen {
namespace {

TEST(Hash, sha256_gives_the_published_values) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, sha256_reads_past_a_zero_byte) {
  EXPECT_NE(sha256_hex(std::string_view("a\0b", 3)), sha256_hex(std::string_view("a\0c", 3)));
}

// All positions of the end within a block, by the processor's instructions and by the library.
TEST(Hash, sha256_by_instructions_and_by_the_library_agree) {
  if (!has_sha256_instructions()) GTEST_SKIP() << "this processor has no such instructions";
  std::string text;
  for (int length = 0; length <= 200; ++length) {
    std::array<std::uint8_t, crypto_hash_sha256_BYTES> expected;
    crypto_hash_sha256(expected.data(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size());
    EXPECT_EQ(sha256_by_instructions(text), expected) << length;
    text += static_cast<char>(7 * length + 3);
  }
}

TEST(Hash, crc32_gives_the_published_check_value) {
  EXPECT_EQ(crc32(0, "123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32(0, ""), 0u);
}

TEST(Hash, crc32_continues_where_it_stopped) {
  std::string_view whole = "123456789";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    EXPECT_EQ(crc32(crc32(0, whole.substr(0, cut)), whole.substr(cut)), 0xcbf43926u) << cut;
  }
}

TEST(Hash, crc32_of_no_bytes_changes_nothing_even_with_a_null_pointer) {
  EXPECT_EQ(crc32(0xcbf43926u, std::string_view()), 0xcbf43926u);
}

std::uint64_t hash_of(std::initializer_list<std::string_view> texts) {
  TraceHash hash;
  for (std::string_view text : texts) hash.mix(text);
  return hash.value();
}

TEST(Hash, a_trace_hash_is_the_same_for_the_same_trace) {
  EXPECT_EQ(hash_of({"fork", "verdict"}), hash_of({"fork", "verdict"}));
  EXPECT_EQ(hash_of({std::string_view()}), hash_of({""}));
}

TEST(Hash, a_trace_hash_depends_on_order_boundaries_and_lengths) {
  std::set<std::uint64_t> all{hash_of({}),
                              hash_of({""}),
                              hash_of({"", ""}),
                              hash_of({"fork", "verdict"}),
                              hash_of({"verdict", "fork"}),
                              hash_of({"forkv", "erdict"}),
                              hash_of({"forkverdict"}),
                              hash_of({std::string_view("a\0", 2)}),
                              hash_of({"a"}),
                              hash_of({"12345678"}),
                              hash_of({"123456789"})};
  EXPECT_EQ(all.size(), 11u);
}

TEST(Hash, every_bit_of_a_word_reaches_a_trace_hash) {
  std::set<std::uint64_t> all;
  for (int bit = 0; bit < 64; ++bit) {
    TraceHash hash;
    hash.mix(std::uint64_t{1} << bit);
    hash.mix(std::uint64_t{0});
    all.insert(hash.value());
  }
  EXPECT_EQ(all.size(), 64u);
}

}  // namespace
}  // namespace specgen
