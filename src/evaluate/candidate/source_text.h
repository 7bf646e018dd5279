#pragma once
// A candidate's source as compilers see it: lines joined at backslashes, preprocessor lines, tokens
// without comments. Takes time in proportion to the source, whatever is in it.
//
// Preprocessor lines are found by a rule that no lexer can be talked out of: everything that begins
// a line or follows a comment and starts with '#'. So one in a comment or in a raw string counts
// too; a compiler that reads quotes in another way than we do sees no line that we have not seen.

#include <string>
#include <string_view>
#include <vector>

#include "evaluate/candidate/rejection.h"

namespace specgen {

// Text at all: not empty, at most 1 MiB, UTF-8 without NUL bytes.
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
  SourceText(const SourceText&) = delete;  // lines and tokens look into text_
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

// What a string literal stands for: escapes and raw strings resolved.
std::string literal_value(std::string_view literal);

}  // namespace specgen
