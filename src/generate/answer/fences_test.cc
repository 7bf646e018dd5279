#include "generate/answer/fences.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

// Each block as "info|code|closed".
std::vector<std::string> found(std::string_view text) {
  std::vector<std::string> all;
  for (const CodeBlock& block : find_code_blocks(text)) {
    EXPECT_LE(block.begin, block.code_begin);
    EXPECT_LE(block.code_begin, block.code_end);
    EXPECT_LE(block.code_end, block.end);
    EXPECT_LE(block.end, text.size());
    all.push_back(std::string(block.info) + "|" + code_of(text, block) + "|" +
                  (block.closed ? "closed" : "open"));
  }
  return all;
}
using Blocks = std::vector<std::string>;

TEST(Fences, blocks_are_found_with_prose_around) {
  EXPECT_EQ(found("Here:\n```cpp\nint a;\n```\nand\n~~~\nint b;\n~~~\ndone"),
            (Blocks{"cpp|int a;\n|closed", "|int b;\n|closed"}));
}

TEST(Fences, offsets_are_those_of_the_fence_lines) {
  std::string_view text = "x\n```cpp\na\n```\ny";
  CodeBlock block = find_code_blocks(text).at(0);
  EXPECT_EQ(text.substr(block.begin, block.end - block.begin), "```cpp\na\n```\n");
  EXPECT_EQ(text.substr(block.code_begin, block.code_end - block.code_begin), "a\n");
}

TEST(Fences, a_fence_closes_with_as_many_marks_or_more) {
  EXPECT_EQ(found("````\na\n```\nb\n`````\n"), Blocks{"|a\n```\nb\n|closed"});
  EXPECT_EQ(found("~~~\n```\na\n~~~"), Blocks{"|```\na\n|closed"});
}

TEST(Fences, windows_lines_and_indented_fences_give_plain_code) {
  EXPECT_EQ(found("1. so\r\n   ```cpp\r\n   a {\r\n     b;\r\n }\r\n   ```\r\n"),
            Blocks{"cpp|a {\n  b;\n}\n|closed"});
}

TEST(Fences, marks_inside_a_line_are_not_a_fence) {
  EXPECT_EQ(found("use ```x``` here\n```x``` there\n``\n"), Blocks{});
  EXPECT_EQ(found("```\na // ``` here\n```"), Blocks{"|a // ``` here\n|closed"});
}

TEST(Fences, a_block_without_a_closing_fence_is_open) {
  EXPECT_EQ(found("```cpp\nint a;\nint"), Blocks{"cpp|int a;\nint\n|open"});
  EXPECT_EQ(found("```cpp"), Blocks{"cpp||open"});
}

TEST(Fences, a_fence_with_an_info_string_begins_a_new_block) {
  EXPECT_EQ(found("```cpp\na\n```cpp\nb\n```\n"), (Blocks{"cpp|a\n|open", "cpp|b\n|closed"}));
  EXPECT_EQ(found("````markdown\n```cpp\nb\n```\n````\n"),
            (Blocks{"markdown||open", "cpp|b\n|closed", "||open"}));
}

TEST(Fences, no_text_has_no_blocks) {
  EXPECT_EQ(found(""), Blocks{});
  EXPECT_EQ(found("\n\n"), Blocks{});
}

}  // namespace
}  // namespace specgen
