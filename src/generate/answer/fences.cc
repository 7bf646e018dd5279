#include "generate/answer/fences.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kFewestMarks = 3;

}  // namespace

std::optional<Fence> read_fence(std::string_view line) {
  Fence fence;
  fence.indent = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return std::nullopt;
  fence.mark = line[0];
  fence.marks = std::min(line.find_first_not_of(fence.mark), line.size());
  fence.info = trim(line.substr(fence.marks));
  bool inline_code = fence.mark == '`' && fence.info.find('`') != std::string_view::npos;
  if (fence.marks < kFewestMarks || inline_code) return std::nullopt;
  return fence;
}

FenceEffect effect_of(const Fence& fence, const Fence* open) {
  if (!open) return FenceEffect::opens;
  if (fence.mark != open->mark) return FenceEffect::none;
  if (!fence.info.empty()) return FenceEffect::opens;
  return fence.marks >= open->marks ? FenceEffect::closes : FenceEffect::none;
}

std::vector<CodeBlock> find_code_blocks(std::string_view text) {
  std::vector<CodeBlock> blocks;
  std::optional<Fence> open;  // of blocks.back()
  auto end_block = [&](std::size_t code_end, std::size_t end, bool closed) {
    blocks.back().code_end = code_end;
    blocks.back().end = end;
    blocks.back().closed = closed;
    open.reset();
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t next = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (auto fence = read_fence(text.substr(at, next - at))) {
      FenceEffect effect = effect_of(*fence, open ? &*open : nullptr);
      if (effect == FenceEffect::closes) {
        end_block(at, next, true);
      } else if (effect == FenceEffect::opens) {
        if (open) end_block(at, at, false);
        CodeBlock block;
        block.begin = at;
        block.code_begin = next;
        block.info = fence->info;
        block.indent = fence->indent;
        blocks.push_back(block);
        open = fence;
      }
    }
    at = next;
  }
  if (open) end_block(text.size(), text.size(), false);
  return blocks;
}

std::string code_of(std::string_view text, const CodeBlock& block) {
  std::string code;
  text = text.substr(block.code_begin, block.code_end - block.code_begin);
  code.reserve(text.size() + 1);
  while (!text.empty()) {
    std::string_view line = first_line(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::size_t space = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(std::min(space, block.indent));
    code.append(line).append(1, '\n');
  }
  return code;
}

}  // namespace specgen
