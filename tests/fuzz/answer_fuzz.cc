// Any text as an answer and as its parent: a kernel or a reason. And as reasoning: at every requested
// cut, a prefix of complete characters.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/text.h"
#include "generate/answer/extract.h"
#include "generate/answer/fences.h"
#include "generate/answer/kernel_shape.h"
#include "generate/reasoning_trace.h"
#include "pieces.h"

namespace {

using namespace specgen;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_blocks(std::string_view text) {
  std::size_t end = 0;
  for (const CodeBlock& block : find_code_blocks(text)) {
    check(block.begin >= end && block.begin < block.code_begin);
    check(block.code_begin <= block.code_end && block.code_end <= block.end);
    (void)code_of(text, block);
    end = block.end;
  }
  check(end <= text.size());
}

void check_answer(std::string_view text, std::string_view parent, std::uint8_t choice) {
  AnswerToRead answer;
  answer.text = text;
  answer.finish = (choice & 1U) != 0 ? FinishReason::length : FinishReason::stop;
  answer.backend = (choice & 2U) != 0 ? "cuda" : "cpu";
  if ((choice & 4U) != 0) answer.parent = parent;
  if ((choice & 8U) != 0) answer.answer_start = "```cpp\n";
  answer.stops_at_fence = (choice & 16U) != 0;
  auto kernel = extract_kernel(answer);
  if (!kernel) {
    check(!kernel.error().explanation.empty());
    check((kernel.error().hunk > 0) == (kernel.error().reason == NoKernel::Reason::hunk_not_found));
  } else if (kernel->form != KernelForm::diff) {
    check(shape_of(kernel->source, answer.backend).is_kernel());
  }
}

void check_cuts(const std::vector<std::string>& pieces) {
  ReasoningTrace trace;
  trace.add(PromptTokens{{-1}});
  std::string said;  // the text of the tokens: token n is piece n
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    trace.add(Delta{.kind = DeltaKind::reasoning,
                    .text = as_utf8(pieces[i]),
                    .choice = 0,
                    .token_ids = {static_cast<std::int32_t>(i)}});
  }
  std::size_t step = trace.text().size() / 16 + 1;
  for (std::size_t offset = 0; offset <= trace.text().size(); offset += step) {
    ReasoningPrefix prefix = trace.prefix(offset);
    check(prefix.text.size() <= offset && trace.text().starts_with(prefix.text));
    check(as_utf8(prefix.text) == prefix.text);
    said.clear();
    for (std::size_t i = 1; i < prefix.token_ids.size(); ++i) said += as_utf8(pieces[i - 1]);
    check(said == prefix.text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  FuzzInput input = cut_into_pieces(data + 1, size - 1);
  std::size_t middle = std::min<std::size_t>(data[1], input.text.size());
  check_blocks(input.text);
  check_answer(std::string_view(input.text).substr(middle),
               std::string_view(input.text).substr(0, middle), data[0]);
  check_cuts(input.pieces);
  return 0;
}
