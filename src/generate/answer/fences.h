#pragma once
// Code blocks in the Markdown that models write: fences of three or more ` or ~, indented or not, with
// any info string, lines ended by \n or \r\n. More lenient than CommonMark, since models are careless: a
// fence with an info string inside an open block starts a new block, and leaves the open one unclosed.
// Pure, linear in the text. For a text that still grows, pass complete lines only.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

// A fence line.
struct Fence {
  char mark = '`';
  std::size_t marks = 0;
  std::size_t indent = 0;
  std::string_view info;  // into the line
};
std::optional<Fence> read_fence(std::string_view line);

enum class FenceEffect { none, opens, closes };
// The effect of a fence inside the block opened by `open`, or outside of any block (null).
FenceEffect effect_of(const Fence& fence, const Fence* open);

// Offsets into the text.
struct CodeBlock {
  std::size_t begin = 0;       // of the line of the opening fence
  std::size_t code_begin = 0;  // of the first line of code
  std::size_t code_end = 0;    // after the last line of code
  std::size_t end = 0;         // after the line of the closing fence; code_end if unclosed
  std::string_view info;       // after the opening fence, trimmed: "cpp", "cuda title=x"
  std::size_t indent = 0;      // of the opening fence, in characters
  bool closed = false;         // by a closing fence
};

std::vector<CodeBlock> find_code_blocks(std::string_view text);

// The code of a block without the fence's indent, every line ended by \n.
std::string code_of(std::string_view text, const CodeBlock& block);

}  // namespace specgen
