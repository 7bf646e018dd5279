#pragma once
// A candidate's source as compilers see it: lines joined at backslashes, preprocessor lines, tokens
// without comments. Takes linear time for any input.
//
// Preprocessor lines are found by a rule that no input can circumvent: every '#' that begins a line or follows
// a comment.
// So one in a comment or in a raw string counts too, and a compiler that reads quotes differently cannot see a
// line that
// we have missed.

#include <string>
#include <string_view>
#include <vector>

#include "evaluate/candidate/rejection.h"

namespace specgen {

// Not empty, at most 1 MiB, UTF-8 without NUL bytes.
Accepted<void> check_text(std::string_view source);

struct PreprocessorLine {
  int line = 0;
  std::string_view word;  // "include"; "/*" where a comment hides it
  std::string_view rest;  // what follows, to the end of the line
};

struct SourceToken {
  enum class Kind { word, number, string, character, mark } kind = Kind::mark;
  std::string_view text;  // of a string: with prefix and quotes; a mark is one character
  int line = 0;
  bool is(std::string_view what) const { return text == what; }
};

class SourceText {
 public:
  explicit SourceText(std::string_view source);
  SourceText(const SourceText&) = delete;  // lines and tokens point into text_
  SourceText& operator=(const SourceText&) = delete;

  const std::vector<PreprocessorLine>& preprocessor_lines() const { return preprocessor_lines_; }
  const std::vector<SourceToken>& tokens() const { return tokens_; }

 private:
  struct Start {  // where a line of the file begins in the joined text
    std::size_t at;
    int line;
  };
  void join_lines(std::string_view source);
  void find_preprocessor_lines();
  void find_tokens();
  int line_of(std::size_t at) const;

  std::string text_;
  std::vector<Start> starts_;
  std::vector<PreprocessorLine> preprocessor_lines_;
  std::vector<SourceToken> tokens_;
};

// The value of a string literal: escapes and raw strings resolved.
std::string literal_value(std::string_view literal);

}  // namespace specgen
