#include "schedule/normalised_source.h"

#include <utility>

#include "base/text.h"

namespace specgen {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_operator(char c) {
  return std::string_view("+-*/%<>=!&|^~?:.#").contains(c);
}

class CppNormaliser {
 public:
  explicit CppNormaliser(std::string_view source) : rest_(source) { out_.reserve(source.size()); }

  std::string run() {
    while (!rest_.empty()) step();
    return std::move(out_);
  }

 private:
  void step() {
    if (is_space(rest_.front())) {
      if (rest_.front() == '\n') end_line();
      rest_.remove_prefix(1);
      gap_ = true;
    } else if (rest_.starts_with("\\\n")) {
      rest_.remove_prefix(2);
      gap_ = true;
    } else if (rest_.starts_with("//")) {
      line_comment();
    } else if (rest_.starts_with("/*")) {
      auto end = rest_.find("*/", 2);
      rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 2);
      gap_ = true;
    } else {
      token();
    }
  }

  void end_line() {
    if (in_directive_) out_ += '\n';
    in_directive_ = false;
    at_line_start_ = true;
  }

  void line_comment() {
    std::string_view line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(line.size());
    gap_ = true;
    line.remove_prefix(2);
    if (!trim(line).starts_with("specgen:")) return;
    // Parts of such a line are separated by one space each.
    start_line();
    out_ += "//";
    bool space = false;
    for (char c : trim(line)) {
      if (is_space(c)) {
        space = true;
        continue;
      }
      if (std::exchange(space, false)) out_ += ' ';
      out_ += c;
    }
    in_directive_ = true;
  }

  void start_line() {
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    gap_ = false;
  }

  void token() {
    char first = rest_.front();
    if (first == '#' && at_line_start_) {
      start_line();
      in_directive_ = true;
    }
    at_line_start_ = false;
    separate(first);
    if (is_digit(first)) return take(number_length());
    if (first == '"' || first == '\'') return take(literal_length(first));
    if (is_word(first)) {
      std::size_t length = word_length();
      bool is_raw = length < rest_.size() && rest_[length] == '"' && rest_[length - 1] == 'R' &&
                    length <= 3;  // R, LR, uR, UR, u8R
      return take(is_raw ? raw_length(length) : length);
    }
    take(1);
  }

  void separate(char next) {
    if (!std::exchange(gap_, false) || out_.empty() || out_.back() == '\n') return;
    char last = out_.back();
    bool would_join = (is_word(last) && is_word(next)) || (is_operator(last) && is_operator(next));
    // In a preprocessor line it matters whether there is a space: #define F (x).
    if (would_join || in_directive_) out_ += ' ';
  }

  std::size_t number_length() const {
    std::size_t length = 0;
    while (length < rest_.size() && (is_word(rest_[length]) || rest_[length] == '\'')) ++length;
    return length;
  }
  std::size_t word_length() const {
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    return length;
  }
  std::size_t literal_length(char quote) const {
    std::size_t length = 1;
    while (length < rest_.size() && rest_[length] != quote && rest_[length] != '\n') {
      length += rest_[length] == '\\' ? 2 : 1;
    }
    return std::min(length + 1, rest_.size());
  }
  std::size_t raw_length(std::size_t prefix) const {
    auto open = rest_.find('(', prefix);
    if (open == rest_.npos || open - prefix > 17) return prefix;  // not a raw literal
    std::string closing = ")" + std::string(rest_.substr(prefix + 1, open - prefix - 1)) + "\"";
    auto end = rest_.find(closing, open);
    return end == rest_.npos ? rest_.size() : end + closing.size();
  }
  void take(std::size_t length) {
    out_ += rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  std::string_view rest_;
  std::string out_;
  bool gap_ = false;  // white space or a comment precedes the next token
  bool at_line_start_ = true;
  bool in_directive_ = false;
};

bool opens_long_quote(std::string_view text) {
  return text.starts_with("\"\"\"") || text.starts_with("'''");
}

class PythonNormaliser {
 public:
  explicit PythonNormaliser(std::string_view source) : rest_(source) {
    out_.reserve(source.size());
  }

  std::string run() {
    while (!rest_.empty()) {
      char c = rest_[0];
      if (c == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (c == '"' || c == '\'') {
        copy(quoted_length());
      } else if (c == '\n') {
        rest_.remove_prefix(1);
        end_line();
      } else {
        copy(1);
      }
    }
    end_line();
    return std::move(out_);
  }

 private:
  void copy(std::size_t length) {
    out_ += rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (!is_space(out_.back())) line_end_ = out_.size();
  }

  void end_line() {
    bool is_blank = line_end_ <= line_begin_;
    out_.resize(is_blank ? line_begin_ : line_end_);
    if (!is_blank) out_ += '\n';
    line_begin_ = line_end_ = out_.size();
  }

  // An unclosed quote ends with its line, an unclosed long quote with the source.
  std::size_t quoted_length() const {
    bool is_long = opens_long_quote(rest_);
    std::size_t marks = is_long ? 3 : 1;
    std::string_view quote = rest_.substr(0, marks);
    for (std::size_t at = marks; at < rest_.size(); ++at) {
      if (rest_[at] == '\\') {
        ++at;
      } else if (rest_.substr(at).starts_with(quote)) {
        return at + marks;
      } else if (rest_[at] == '\n' && !is_long) {
        return at;
      }
    }
    return rest_.size();
  }

  std::string_view rest_;
  std::string out_;
  std::size_t line_begin_ = 0;  // in out_
  std::size_t line_end_ = 0;    // behind the last non-blank
};

}  // namespace

std::string normalised_source(std::string_view source) {
  return CppNormaliser(source).run();
}

std::string without_python_comments(std::string_view source) {
  return PythonNormaliser(source).run();
}

}  // namespace specgen
