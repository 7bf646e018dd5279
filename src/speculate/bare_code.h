#pragma once
// Separates code without fences from prose, line by line: C++ by its braces and first words, Python by its indents and
// first words. It is strict about the first line of code and takes what follows while something is open. One pass; a
// few bytes of state. Pure.

#include <cstdint>
#include <string_view>

namespace specgen {

class BareCode {
 public:
  enum class Verdict : std::uint8_t {
    prose,      // not code, and no code is open
    begins,     // the first line of code
    continues,  // one more line; also a blank one, which may turn out to follow the end
    ended,      // this line is prose again: the code before it is complete
    broken,     // this line is prose, and the code before it is incomplete
  };
  Verdict add(std::string_view line);  // without its end
  bool is_open() const { return language_ != Language::none; }
  bool is_complete() const;  // nothing is left open
  void reset() { *this = BareCode(); }

 private:
  enum class Language : std::uint8_t { none, cpp, python };
  bool continues(std::string_view line) const;
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
