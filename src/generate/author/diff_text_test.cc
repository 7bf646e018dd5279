#include "generate/author/diff_text.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace specgen {
namespace {

// Applies the blocks; each SEARCH part must occur once.
std::string applied(std::string source, std::string_view blocks) {
  constexpr std::string_view kSearch = "<<<<<<< SEARCH\n", kMiddle = "=======\n",
                             kEnd = ">>>>>>> REPLACE\n";
  for (std::size_t at = blocks.find(kSearch); at != std::string_view::npos;
       at = blocks.find(kSearch, at)) {
    std::size_t search = at + kSearch.size(), middle = blocks.find(kMiddle, search);
    std::size_t replace = middle + kMiddle.size(), end = blocks.find(kEnd, replace);
    std::string old_part = "\n" + std::string(blocks.substr(search, middle - search));
    std::string padded = "\n" + source;
    std::size_t found = padded.find(old_part);
    EXPECT_NE(found, std::string::npos) << old_part;
    if (found == std::string::npos) return {};
    EXPECT_EQ(padded.find(old_part, found + 1), std::string::npos) << old_part;
    padded.replace(found + 1, old_part.size() - 1, blocks.substr(replace, end - replace));
    source = padded.substr(1);
    at = end;
  }
  return source;
}

TEST(SearchReplaceBlocks, a_changed_line_is_one_block) {
  EXPECT_EQ(search_replace_blocks("a\nb\nc\n", "a\nx\nc\n"),
            "<<<<<<< SEARCH\nb\n=======\nx\n>>>>>>> REPLACE\n\n");
}

TEST(SearchReplaceBlocks, equal_sources_have_no_blocks) {
  EXPECT_EQ(search_replace_blocks("a\nb\n", "a\nb\n"), "");
}

TEST(SearchReplaceBlocks, applied_to_the_old_source_they_give_the_new_one) {
  Random random(5);
  // Few different lines, so that most are not unique.
  auto source = [&] {
    std::string text;
    for (std::uint64_t i = 1 + random.below(12); i > 0; --i)
      text += std::string(1, static_cast<char>('a' + random.below(4))) + "\n";
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    std::string before = source(), after = source();
    EXPECT_EQ(applied(before, search_replace_blocks(before, after)), after) << before << "--\n"
                                                                            << after;
  }
}

}  // namespace
}  // namespace specgen
