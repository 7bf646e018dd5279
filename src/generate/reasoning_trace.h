#pragma once
// What a main generation has thought so far, and where it can be cut for a fork.
//
// A fork repeats the reasoning up to a cut. Cut anywhere, the text would be tokenized differently from
// what the server holds in its cache, or end in half a character; so a cut moves back to a safe place:
// the end of a paragraph or of a code block, else of a line, else of a sentence or word, as far as one is
// near (128 bytes, a paragraph 256); never inside a line of a code block, between the lines of one that
// has ended only if no better place is near, and where the server told its tokens, to the end of a token.
// Looking for a cut costs one pass over the text.

#include <cstdint>
#include <string>
#include <vector>

#include "generate/model.h"

namespace specgen {

class ReasoningTrace {
 public:
  void add(const PromptTokens& prompt);
  void add(const Delta& delta);  // content is ignored, and so is any choice but the first

  const std::string& text() const { return text_; }
  std::int64_t tokens() const;  // counted where the server told them, else estimated

  // The best safe place at or shortly before `offset`; 0 if there is none.
  std::size_t safe_cut(std::size_t offset) const;
  // The reasoning up to that place.
  ReasoningPrefix prefix(std::size_t offset) const;

 private:
  bool has_ids(std::size_t offset) const;  // of all the text up to there

  struct TokenEnd {
    std::size_t text_end;    // of a delta with text, in text_
    std::size_t tokens_end;  // in token_ids_
  };
  std::string text_;
  std::vector<std::int32_t> prompt_ids_;
  std::vector<std::int32_t> token_ids_;
  std::vector<TokenEnd> ends_;
  bool ids_complete_ =
      true;  // every delta so far came with its tokens; else those before still count
};

}  // namespace specgen
