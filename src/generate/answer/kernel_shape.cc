#include "generate/answer/kernel_shape.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/text.h"

namespace specgen {
namespace {

bool is_word_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

// The length of the raw string literal at the front.
std::size_t raw_string_length(std::string_view text) {
  std::size_t open = text.find('(');
  if (open == std::string_view::npos) return text.size();
  std::string end = ")" + std::string(text.substr(2, open - 2)) + "\"";
  std::size_t close = text.find(end, open);
  return close == std::string_view::npos ? text.size() : close + end.size();
}

// The length of the quoted literal at the front; it ends with its line at the latest.
std::size_t literal_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[0]) {
      return i + 1;
    } else if (text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

// The length of the comment or literal at the front; 0 if there is none.
std::size_t skipped_length(std::string_view text, char before) {
  if (text.starts_with("//")) return std::min(text.find('\n'), text.size());
  if (text.starts_with("/*")) {
    std::size_t end = text.find("*/", 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  if (text.starts_with("R\"") && !is_word_character(before)) return raw_string_length(text);
  bool separates_digits = text[0] == '\'' && is_word_character(before);
  if ((text[0] == '"' || text[0] == '\'') && !separates_digits) return literal_length(text);
  return 0;
}

// The text with comments and literals replaced by blanks.
std::string code_without_text(std::string_view code) {
  std::string bare(code);
  for (std::size_t at = 0; at < code.size();) {
    std::size_t length = skipped_length(code.substr(at), at > 0 ? code[at - 1] : ' ');
    std::fill_n(bare.begin() + static_cast<std::ptrdiff_t>(at), length, ' ');
    at += std::max<std::size_t>(length, 1);
  }
  return bare;
}

// Calls `visit` with the end of each occurrence of the separate word, until it returns true.
template <class Visit>
bool any_word(std::string_view bare, std::string_view word, Visit visit) {
  for (std::size_t at = bare.find(word); at != std::string_view::npos; at = bare.find(word, at)) {
    std::size_t end = at + word.size();
    bool alone = (at == 0 || !is_word_character(bare[at - 1])) &&
                 (end == bare.size() || !is_word_character(bare[end]));
    if (alone && visit(end)) return true;
    at = end;
  }
  return false;
}

// Whether the declaration at a place has a body. Must be called with increasing places: it reads no
// byte twice, so that thousands of declarations stay linear.
class Bodies {
 public:
  explicit Bodies(std::string_view bare) : bare_(bare) {}
  bool follows(std::size_t from) {
    if (next_ < from || first_) next_ = bare_.find_first_of("{;", from);
    first_ = false;
    return next_ != std::string_view::npos && bare_[next_] == '{';
  }

 private:
  std::string_view bare_;
  std::size_t next_ = 0;
  bool first_ = true;
};

bool has_c_function(std::string_view code, std::string_view bare) {
  Bodies bodies(bare);
  return any_word(bare, "extern", [&](std::size_t end) {
    std::size_t at = std::min(code.find_first_not_of(" \t\n", end), code.size());
    return code.substr(at).starts_with("\"C\"") && bodies.follows(at);
  });
}

bool has_device_kernel(std::string_view bare) {
  Bodies bodies(bare);
  return any_word(bare, "__global__", [&](std::size_t end) { return bodies.follows(end); });
}

template <class Predicate>
bool any_line(std::string_view text, Predicate predicate) {
  while (!text.empty()) {
    std::string_view line = first_line(text);
    if (predicate(line)) return true;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

bool is_launch_line(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("//")) return false;
  return trim(line.substr(2)).starts_with("specgen:launch");
}

bool is_python_kernel(std::string_view code) {
  bool inside = false;  // after the class line
  return any_line(code, [&](std::string_view line) {
    constexpr std::string_view kClass = "class ModelNew";
    if (line.starts_with(kClass)) {
      std::string_view rest = trim(line.substr(kClass.size()));
      inside = inside || rest.starts_with('(') || rest.starts_with(':');
    }
    return inside && trim(line).starts_with("def forward");
  });
}

bool is_elision(std::string_view line) {
  constexpr std::array<std::string_view, 9> kPlaceholders{
      "rest", "same", "existing", "before", "unchanged", "omitted", "remain", "previous", "above"};
  line = trim(line);
  if (line == "...") return true;
  std::size_t mark = line.starts_with("//") || line.starts_with("/*") ? 2
                     : line.starts_with('#')                          ? 1
                                                                      : 0;
  if (mark == 0) return false;
  line = trim(line.substr(mark));
  if (!line.starts_with("...") && !line.starts_with("\xE2\x80\xA6")) return false;
  return std::ranges::any_of(kPlaceholders, [&](std::string_view word) {
    return line.find(word) != std::string_view::npos;
  });
}

}  // namespace

KernelShape shape_of(std::string_view code, std::string_view backend) {
  KernelShape shape;
  shape.python = is_python_kernel(code);
  shape.elided = any_line(code, is_elision);
  if (shape.python) return shape;
  std::string bare = code_without_text(code);
  auto opened = std::ranges::count(bare, '{'), closed = std::ranges::count(bare, '}');
  // Both branches of an #if may open a brace that is closed once.
  bool conditional =
      bare.find("#else") != std::string::npos || bare.find("#elif") != std::string::npos;
  shape.cut_off = opened > closed && !conditional;
  bool balanced = opened == closed || conditional;
  bool device_code = any_word(bare, "__global__", [](std::size_t) { return true; });
  if (backend == "cuda") {
    shape.native = balanced && has_device_kernel(bare) && any_line(code, is_launch_line);
  } else {
    shape.native = balanced && !device_code && has_c_function(code, bare);
  }
  return shape;
}

bool looks_like_code_alone(std::string_view text) {
  constexpr std::array<std::string_view, 24> kBeginnings{
      "#",      "//",      "/*",        "extern",  "template", "using",  "namespace",  "static",
      "inline", "typedef", "constexpr", "const ",  "struct ",  "class ", "__global__", "__device__",
      "enum ",  "void ",   "float ",    "import ", "from ",    "\"\"\"", "@",          "typename "};
  text = trim(text);
  if (text.empty()) return false;
  std::string_view last = trim(text.substr(text.rfind('\n') + 1));
  bool begins = std::ranges::any_of(
      kBeginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
  // A sentence ends with a full stop; a line of code in our languages does not.
  bool ends = !last.ends_with('.') && !last.ends_with('!') && !last.ends_with(':');
  return begins && (ends || last.starts_with("//") || last.starts_with('#'));
}

}  // namespace specgen
