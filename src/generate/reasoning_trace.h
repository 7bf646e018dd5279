#pragma once
// What a main generation has thought so far, and where it can be cut for a fork.
//
// A fork repeats the thinking up to a cut. Cut anywhere, the text would be tokenized differently from
// what the server holds in its cache, or end in half a character; so a cut moves back to a safe place:
// the end of a paragraph, else of a line, else of a sentence or word, never inside an open code fence's
// line, and where the server told its tokens, to the end of a token.

#include <cstdint>
#include <string>
#include <vector>

#include "generate/model.h"

namespace specgen {

class ReasoningTrace {
 public:
  void add(const PromptTokens& prompt);
  void add(const Delta& delta);  // content is ignored

  const std::string& text() const { return text_; }
  std::int64_t tokens() const;  // counted where the server told them, else estimated

  // The largest safe place at or before `offset`; 0 if there is none.
  std::size_t safe_cut(std::size_t offset) const;
  // The thinking up to the safe place at or before `offset`.
  ReasoningPrefix prefix(std::size_t offset) const;

 private:
  struct TokenEnd {
    std::size_t text_end;    // of the delta, in text_
    std::size_t tokens_end;  // in token_ids_
  };
  std::string text_;
  std::vector<std::int32_t> prompt_ids_;
  std::vector<std::int32_t> token_ids_;
  std::vector<TokenEnd> ends_;
  bool ids_complete_ = true;  // every delta so far came with its tokens
};

}  // namespace specgen
