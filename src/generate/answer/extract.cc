#include "generate/answer/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "generate/answer/fences.h"
#include "generate/answer/kernel_shape.h"
#include "generate/answer/search_replace.h"

namespace specgen {
namespace {

using Extraction = std::expected<ExtractedKernel, NoKernel>;
using Reason = NoKernel::Reason;

constexpr std::size_t kMaxHunks = 64;

std::unexpected<NoKernel> none(Reason reason, std::string explanation, int hunk = 0) {
  return std::unexpected(NoKernel{reason, hunk, std::move(explanation)});
}

// A fence with a language opens a block; a closing fence has none.
bool opens_a_block(std::string_view text) {
  for (std::size_t at = text.find("```"); at != std::string_view::npos;
       at = text.find("```", at + 3)) {
    bool begins_line = at == 0 || text[at - 1] == '\n';
    if (begins_line && at + 3 < text.size() && is_letter(text[at + 3])) return true;
  }
  return false;
}

// The complete answer: prepends its prescribed start, unless the server repeats it, or the model was only
// asked to begin so and wrote its own start.
std::string whole_text(const AnswerToRead& answer) {
  if (answer.text.starts_with(answer.answer_start) || opens_a_block(answer.text)) {
    return std::string(answer.text);
  }
  return std::string(answer.answer_start) + std::string(answer.text);
}

struct Block {
  std::string code;
  std::size_t begin = 0;  // in the text
  bool complete = false;  // has its end
};

std::vector<Block> read_blocks(std::string_view text, bool end_closes) {
  std::vector<Block> blocks;
  for (const CodeBlock& block : find_code_blocks(text)) {
    bool at_end = block.end == text.size();
    Block read{code_of(text, block), block.begin, block.closed || (at_end && end_closes)};
    if (!trim(read.code).empty()) blocks.push_back(std::move(read));
  }
  return blocks;
}

// The last block that is a kernel; one with elided parts only if there is no other.
const Block* choose(const std::vector<Block>& blocks, std::string_view backend) {
  const Block* elided = nullptr;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (!block->complete || !find_hunks(block->code).hunks.empty()) continue;
    KernelShape shape = shape_of(block->code, backend);
    if (!shape.is_kernel()) continue;
    if (!shape.elided) return &*block;
    if (!elided) elided = &*block;
  }
  return elided;
}

Extraction found(std::string source, KernelForm form, std::string_view backend) {
  if (source.size() > kMaxKernelSize.count) {
    return none(Reason::too_large, "the kernel is larger than " + format_bytes(kMaxKernelSize));
  }
  bool is_python = shape_of(source, backend).python;
  return ExtractedKernel{std::move(source), form, is_python};
}

Extraction apply_all(const Hunks& diff, const AnswerToRead& answer) {
  if (!answer.parent) {
    return none(Reason::diff_without_parent,
                "the answer is a change, and there is nothing to change");
  }
  if (diff.cut_off) return none(Reason::truncated, "the answer ends inside a change");
  if (diff.hunks.size() > kMaxHunks || answer.parent->size() > kMaxKernelSize.count) {
    return none(Reason::too_large, fmt::format("more than {} changes, or of more than {}",
                                               kMaxHunks, format_bytes(kMaxKernelSize)));
  }
  std::string source(*answer.parent);
  for (int number = 1; const Hunk& hunk : diff.hunks) {
    auto changed = apply_hunk(source, hunk);
    if (!changed) {
      return none(Reason::hunk_not_found,
                  fmt::format("change {} of {} replaces lines that the parent does not have: {}",
                              number, diff.hunks.size(), trim(first_line(trim(hunk.search)))),
                  number);
    }
    source = std::move(*changed);
    if (source.size() > kMaxKernelSize.count) break;  // found() reports it
    ++number;
  }
  return found(std::move(source), KernelForm::diff, answer.backend);
}

// An answer without any code block.
Extraction read_bare(std::string_view text, bool cut, std::string_view backend) {
  if (!looks_like_code_alone(text)) {
    if (cut) return none(Reason::truncated, "the answer was cut off before it came to code");
    return none(Reason::no_code, "the answer has no code block");
  }
  KernelShape shape = shape_of(text, backend);
  if (cut || shape.cut_off) return none(Reason::truncated, "the code was cut off");
  if (!shape.is_kernel()) return none(Reason::no_kernel, "the code is not a whole kernel");
  return found(std::string(trim(text)) + "\n", KernelForm::bare, backend);
}

}  // namespace

std::string_view name_of(NoKernel::Reason reason) {
  switch (reason) {
    case Reason::empty:
      return "empty";
    case Reason::no_code:
      return "no_code";
    case Reason::truncated:
      return "truncated";
    case Reason::no_kernel:
      return "no_kernel";
    case Reason::diff_without_parent:
      return "diff_without_parent";
    case Reason::hunk_not_found:
      return "hunk_not_found";
    case Reason::too_large:
      return "too_large";
  }
  return "";
}

std::expected<ExtractedKernel, NoKernel> extract_kernel(const AnswerToRead& answer) {
  if (answer.text.size() > kMaxAnswerSize.count) {
    return none(Reason::too_large, "the answer is larger than " + format_bytes(kMaxAnswerSize));
  }
  if (trim(answer.text).empty()) return none(Reason::empty, "the answer is empty");
  bool cut = answer.finish != FinishReason::stop;
  std::string text = whole_text(answer);
  std::vector<Block> blocks = read_blocks(text, answer.stops_at_fence && !cut);
  const Block* kernel = choose(blocks, answer.backend);
  Hunks diff = find_hunks(text);
  // A kernel before the hunks is what they apply to; one after them is the result.
  bool is_diff = !diff.hunks.empty() && (!kernel || (answer.parent && kernel->begin < diff.end));
  if (is_diff) return apply_all(diff, answer);
  if (kernel) return found(kernel->code, KernelForm::fenced, answer.backend);
  // The opening fence of a fork's prescribed start may be missing: code, then a closing fence.
  std::string_view before(text);
  if (auto fences = find_code_blocks(text); fences.size() == 1 && !fences[0].closed) {
    before = before.substr(0, fences[0].begin);
    if (auto bare = read_bare(before, false, answer.backend)) return bare;
  }
  if (blocks.empty()) return read_bare(before, cut, answer.backend);
  if (!blocks.back().complete) return none(Reason::truncated, "the last code block has no end");
  if (cut) return none(Reason::truncated, "the answer was cut off before it came to a kernel");
  return none(Reason::no_kernel, "no code block is a whole kernel");
}

}  // namespace specgen
