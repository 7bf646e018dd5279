#pragma once
// Code that stands in a text without fences, told from prose line by line: C++ by its braces and first words, Python
// by its indents and first words. It asks for much before a line counts as the beginning of code, and takes what
// follows as long as something is open. One pass; a few bytes of state. Pure.

#include <cstdint>
#include <string_view>

namespace specgen {

class BareCode {
 public:
  enum class Verdict : std::uint8_t {
    prose,    // not code, and no code is open
    begins,   // the first line of code
    goes_on,  // one more; blank lines too, which may turn out to stand behind the end
    ended,    // this line is prose again: the code before it is whole
    broken,   // this line is prose, and the code before it is not whole
  };
  Verdict add(std::string_view line);  // without its end
  bool is_open() const { return language_ != Language::none; }
  bool is_whole() const;  // nothing is left open
  void reset() { *this = BareCode(); }

 private:
  enum class Language : std::uint8_t { none, cpp, python };
  bool goes_on(std::string_view line) const;
  void read(std::string_view line);
  void read_cpp(std::string_view line);
  void read_python(std::string_view line);

  Language language_ = Language::none;
  int depth_ = 0;        // of braces in C++, of all brackets in Python
  int parentheses_ = 0;  // in C++
  bool in_comment_ = false;
  char quote_ = 0;               // of the long Python string that is open
  bool statement_open_ = false;  // in C++: begun, and not ended by ; or }
  bool after_blank_ = false;
};

}  // namespace specgen
