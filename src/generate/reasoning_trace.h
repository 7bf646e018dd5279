#pragma once
// The reasoning of a main generation so far, and where it can be cut for a fork.
//
// A fork repeats the reasoning up to a cut. A cut at any byte could tokenize differently from the server's cached
// text, or split a character. So a cut moves back to a safe place nearby (within 128 bytes, a paragraph 256): the
// end of a paragraph or code block, else of a line, else of a sentence or word. It is never inside a line of a code
// block, between the lines of a finished one only if there is no better place nearby, and at the end of a token if
// the server reports tokens. Finding a cut costs one pass over the text. Owned by the follower of one stream.

#include <cstdint>
#include <string>
#include <vector>

#include "generate/model.h"

namespace specgen {

class ReasoningTrace {
 public:
  void add(const PromptTokens& prompt);
  void add(const Delta& delta);  // content and choices other than the first are ignored

  const std::string& text() const { return text_; }
  std::int64_t tokens() const;  // reported by the server, else estimated

  // The best safe place at or shortly before `offset`; 0 if there is none.
  std::size_t safe_cut(std::size_t offset) const;
  // The reasoning up to that place.
  ReasoningPrefix prefix(std::size_t offset) const;

 private:
  bool has_ids(std::size_t offset) const;  // of all text before it

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
