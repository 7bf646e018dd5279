#include "schedule/normalised_python.h"

#include "base/text.h"

namespace specgen {
namespace {

bool opens_long_quote(std::string_view text) {
  return text.starts_with("\"\"\"") || text.starts_with("'''");
}

class Normaliser {
 public:
  explicit Normaliser(std::string_view source) : rest_(source) { out_.reserve(source.size()); }

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

  // What is not closed ends with its line; between long quotes, with the source.
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
  std::size_t line_end_ = 0;    // behind the last that is no blank
};

}  // namespace

std::string without_python_comments(std::string_view source) {
  return Normaliser(source).run();
}

}  // namespace specgen
