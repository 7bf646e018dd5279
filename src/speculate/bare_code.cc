#include "speculate/bare_code.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace specgen {
namespace {

bool is_word_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

std::string_view first_word(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_word_character(text[length])) ++length;
  return text.substr(0, length);
}

bool is_indented(std::string_view line) {
  return !line.empty() && (line[0] == ' ' || line[0] == '\t');
}

// Unlike any line of code: a capital letter, several words, the end of a sentence.
bool is_sentence(std::string_view line) {
  if (line.empty() || line[0] < 'A' || line[0] > 'Z') return false;
  std::string_view text = trim(line);
  if (!std::string_view(".:?!").contains(text.back())) return false;
  return std::ranges::count(text, ' ') >= 2 && text.find_first_of(";{}=") == std::string_view::npos;
}

bool is_preprocessor(std::string_view line) {
  constexpr std::array<std::string_view, 10> kWords{
      "include", "define", "pragma", "if", "ifdef", "ifndef", "else", "elif", "endif", "undef"};
  if (!line.starts_with('#')) return false;
  std::string_view word = first_word(trim(line.substr(1)));
  return std::ranges::find(kWords, word) != kWords.end();
}

// Prose may begin with the same word, but does not end like this.
bool ends_like_cpp(std::string_view line) {
  std::size_t comment = line.find("//");
  line = trim(line.substr(0, comment));
  return line.empty() || std::string_view(";{}(),>]\\").contains(line.back());
}

bool begins_cpp(std::string_view line) {
  constexpr std::array<std::string_view, 42> kWords{"extern",
                                                    "template",
                                                    "using",
                                                    "namespace",
                                                    "static",
                                                    "inline",
                                                    "typedef",
                                                    "constexpr",
                                                    "const",
                                                    "struct",
                                                    "class",
                                                    "enum",
                                                    "union",
                                                    "void",
                                                    "float",
                                                    "double",
                                                    "int",
                                                    "auto",
                                                    "unsigned",
                                                    "long",
                                                    "bool",
                                                    "char",
                                                    "short",
                                                    "size_t",
                                                    "int32_t",
                                                    "int64_t",
                                                    "uint32_t",
                                                    "uint64_t",
                                                    "__global__",
                                                    "__device__",
                                                    "__host__",
                                                    "__constant__",
                                                    "__launch_bounds__",
                                                    "__forceinline__",
                                                    "half",
                                                    "__half",
                                                    "__shared__",
                                                    "static_assert",
                                                    "alignas",
                                                    "thread_local",
                                                    "float4",
                                                    "typename"};
  if (is_preprocessor(line) || line.starts_with("//") || line.starts_with("/*")) return true;
  std::string_view word = first_word(line);
  return std::ranges::find(kWords, word) != kWords.end() && ends_like_cpp(line);
}

bool begins_python(std::string_view line) {
  if (line.starts_with("import ") || line.starts_with('@')) {
    return line.find_first_of(".?!", line.size() - 1) == std::string_view::npos;
  }
  if (line.starts_with("from ")) return line.contains(" import ");
  bool is_definition = line.starts_with("def ") || line.starts_with("class ");
  // The head of a definition may continue in the next line.
  return is_definition && line.find_first_of("(:") != std::string_view::npos;
}

// At the left edge, between the parts of a Python program.
bool continues_python(std::string_view line) {
  if (begins_python(line) || line.starts_with("\"\"\"") || line.starts_with("'''")) return true;
  // In code this is a comment; in prose, a heading.
  if (line.starts_with('#')) return true;
  if (std::string_view(")]}").contains(line[0])) return true;
  std::string_view word = first_word(line), text = trim(line);
  constexpr std::array<std::string_view, 8> kHeads{"if",  "else",   "elif",    "try",
                                                   "for", "except", "finally", "with"};
  if (std::ranges::find(kHeads, word) != kHeads.end()) return text.ends_with(':');
  if (word.empty()) return false;
  std::string_view rest = line.substr(word.size());
  while (rest.starts_with('.')) {
    rest.remove_prefix(1);
    rest.remove_prefix(first_word(rest).size());
  }
  if (rest.starts_with('('))
    return text.ends_with(')') || text.ends_with('(') || text.ends_with(',');
  return rest.starts_with(" = ") || rest.starts_with("=") || rest.starts_with(" += ") ||
         rest.starts_with("[");
}

}  // namespace

BareCode::Verdict BareCode::add(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  bool is_blank = trim(line).empty();
  if (language_ == Language::none) {
    if (!is_blank && begins_python(line)) {
      language_ = Language::python;
    } else if (!is_blank && begins_cpp(line)) {
      language_ = Language::cpp;
    } else {
      return Verdict::prose;
    }
    read(line);
    return Verdict::begins;
  }
  if (!is_blank && !continues(line)) {
    bool complete = is_complete();
    reset();
    return complete ? Verdict::ended : Verdict::broken;
  }
  if (is_blank) {
    after_blank_ = true;
    return Verdict::continues;
  }
  read(line);
  after_blank_ = false;
  return Verdict::continues;
}

bool BareCode::is_complete() const {
  return depth_ == 0 && parentheses_ == 0 && !in_comment_ && quote_ == 0 && !statement_open_;
}

bool BareCode::continues(std::string_view line) const {
  if (in_comment_ || quote_ != 0) return true;
  if (is_sentence(line)) return false;
  if (depth_ > 0 || parentheses_ > 0 || is_indented(line)) return true;
  if (language_ == Language::python) return continues_python(line);
  if (statement_open_ && !after_blank_) return true;
  return begins_cpp(line) || line.starts_with('}') || line.starts_with('{');
}

void BareCode::read(std::string_view line) {
  if (language_ == Language::python) return read_python(line);
  read_cpp(line);
}

void BareCode::read_cpp(std::string_view line) {
  bool is_line_of_its_own = !in_comment_ && is_preprocessor(trim(line));
  bool was_open = statement_open_;
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string_view rest = line.substr(at);
    if (in_comment_) {
      if (!rest.starts_with("*/")) continue;
      in_comment_ = false;
      ++at;
      continue;
    }
    if (rest.starts_with("//")) break;
    char c = rest[0];
    if (rest.starts_with("/*")) {
      in_comment_ = true;
      ++at;
    } else if (c == '"' || (c == '\'' && (at == 0 || !is_word_character(line[at - 1])))) {
      for (++at; at < line.size() && line[at] != c; ++at) at += line[at] == '\\';
      statement_open_ = true;
    } else if (c == '{' || c == '}') {
      depth_ += c == '{' ? 1 : -1;
      statement_open_ = false;
    } else if (c == '(' || c == ')') {
      parentheses_ += c == '(' ? 1 : -1;
      statement_open_ = true;
    } else if (c == ';') {
      statement_open_ = false;
    } else if (!is_space(c)) {
      statement_open_ = true;
    }
  }
  if (is_line_of_its_own) statement_open_ = was_open;
}

void BareCode::read_python(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string_view rest = line.substr(at);
    bool is_long_quote = rest.starts_with("\"\"\"") || rest.starts_with("'''");
    if (quote_ != 0) {
      if (rest[0] == '\\') {
        ++at;
      } else if (is_long_quote && rest[0] == quote_) {
        quote_ = 0;
        at += 2;
      }
      continue;
    }
    char c = rest[0];
    if (c == '#') break;
    if (is_long_quote) {
      quote_ = c;
      at += 2;
    } else if (c == '"' || c == '\'') {
      for (++at; at < line.size() && line[at] != c; ++at) at += line[at] == '\\';
    } else if (std::string_view("([{").contains(c)) {
      ++depth_;
    } else if (std::string_view(")]}").contains(c)) {
      --depth_;
    }
  }
}

}  // namespace specgen
