// Any text between any tags: pieces give the same as the whole text, nothing but tags and line ends is lost,
// and reasoning comes before content.

#include <cstdint>
#include <cstdlib>

#include "generate/openai/think_splitter.h"
#include "pieces.h"

namespace {

using specgen::ThinkSplitter;

void check(bool holds) {
  if (!holds) std::abort();
}

ThinkSplitter::Parts all_of(const std::vector<std::string>& pieces, ThinkSplitter::Opener opener) {
  ThinkSplitter splitter(opener);
  ThinkSplitter::Parts all;
  auto take = [&](const ThinkSplitter::Parts& parts) {
    check(parts.reasoning.empty() || all.content.empty());
    all.reasoning += parts.reasoning;
    all.content += parts.content;
  };
  for (const std::string& piece : pieces) take(splitter.feed(piece));
  take(splitter.flush());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  specgen::FuzzInput input = specgen::cut_into_pieces(data, size);
  for (auto opener : {ThinkSplitter::Opener::in_text, ThinkSplitter::Opener::in_prompt}) {
    auto whole = all_of({input.text}, opener);
    auto in_pieces = all_of(input.pieces, opener);
    check(whole.reasoning == in_pieces.reasoning && whole.content == in_pieces.content);
    check(input.text.find(whole.reasoning) != std::string::npos);
    check(input.text.ends_with(whole.content));
  }
  return 0;
}
