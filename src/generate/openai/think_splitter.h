#pragma once
// Splits content in which a model's reasoning stands between tags, as servers without a reasoning parser
// send it: <think>...</think> or <reasoning>...</reasoning>, the tags split anywhere over deltas.
//
// Thinking comes first or not at all: a tag that is mentioned later is content. Tags go, and so do the
// line end after the opening one and those after the closing one. Held back is only what may be
// the beginning of a tag. One splitter per choice.

#include <string>
#include <string_view>

namespace specgen {

class ThinkSplitter {
 public:
  enum class Opener {
    in_text,  // without it there is no reasoning
    in_prompt,  // the text begins with reasoning; an opening tag is swallowed if it comes nevertheless
  };

  struct Parts {
    std::string reasoning;  // comes before content
    std::string content;
  };

  explicit ThinkSplitter(Opener opener = Opener::in_text) : opener_(opener) {}

  Parts feed(std::string_view text);
  // The end: what was held back is text after all.
  Parts flush();

  bool reasoning() const { return state_ == State::reasoning; }

 private:
  enum class State { before, after_opener, reasoning, after_closer, content };

  void advance(Parts& parts, bool at_end);
  void look_for_opener(bool at_end);
  void drop_line_end(bool at_end);
  void look_for_closer(Parts& parts, bool at_end);

  State state_ = State::before;
  Opener opener_;
  std::string held_;         // may be the beginning of a tag
  std::string_view closer_;  // of the tag that opened; empty: either
};

}  // namespace specgen
