#pragma once
// Separates reasoning between tags from content, for servers without a reasoning parser: <think>...</think> or
// <thinking>...</thinking>, the tags split anywhere over deltas.
//
// Reasoning comes first or not at all: a tag that appears later is content. Tags are removed, with the line end
// after the opening tag and all line ends after the closing one. Only text that may be the beginning of a tag is
// held back. One splitter per choice.

#include <string>
#include <string_view>

namespace specgen {

class ThinkSplitter {
 public:
  enum class Opener {
    in_text,    // without an opening tag there is no reasoning
    in_prompt,  // the text begins with reasoning; an opening tag is removed if there is one
  };

  struct Parts {
    std::string reasoning;  // precedes content
    std::string content;
  };

  explicit ThinkSplitter(Opener opener = Opener::in_text) : opener_(opener) {}

  Parts feed(std::string_view text);
  // The end: what was held back is text.
  Parts flush();

  bool reasoning() const { return state_ == State::reasoning; }

 private:
  enum class State { before, after_opener, reasoning, after_closer, content };

  void advance(Parts& parts, bool at_end);
  void find_opener(bool at_end);
  void drop_line_end(bool at_end);
  void find_closer(Parts& parts, bool at_end);

  State state_ = State::before;
  Opener opener_;
  std::string held_;         // may be the beginning of a tag
  std::string_view closer_;  // of the tag that opened; empty: either
};

}  // namespace specgen
