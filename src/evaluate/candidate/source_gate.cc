#include "evaluate/candidate/source_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "evaluate/candidate/directive_text.h"

namespace specgen {
namespace {

using Names = std::span<const std::string_view>;
using Kind = SourceToken::Kind;

bool holds(Names names, std::string_view word) {
  return std::ranges::find(names, word) != names.end();
}

// "__section__" as "section"
std::string_view without_underscores(std::string_view word) {
  while (word.starts_with('_')) word.remove_prefix(1);
  while (word.ends_with('_')) word.remove_suffix(1);
  return word;
}

constexpr std::array<std::string_view, 7> kFileReaders{"include_next", "embed",  "import",  "ident",
                                                       "sccs",         "assert", "unassert"};
constexpr std::array<std::string_view, 9> kPragmas{
    "once", "unroll", "nounroll", "STDC", "omp", "clang", "GCC", "push_macro", "pop_macro"};
constexpr std::array<std::string_view, 8> kGccPragmas{"ivdep",       "unroll",    "novector",
                                                      "optimize",    "target",    "push_options",
                                                      "pop_options", "diagnostic"};
constexpr std::array<std::string_view, 5> kForbiddenNames{
    "__has_include", "__has_include_next", "__has_embed", "pch_preprocess", "include_alias"};
constexpr std::array<std::string_view, 10> kForbiddenAttributes{
    "constructor", "destructor",    "ifunc",         "section", "weakref",
    "alias",       "target_clones", "init_priority", "symver",  "target_version"};

std::string_view first_word(std::string_view& text) {
  text = trim(text);
  std::size_t end = 0;
  while (end < text.size() && is_name_character(text[end])) ++end;
  std::string_view word = text.substr(0, end);
  text = trim(text.substr(end));
  return word;
}

Accepted<void> check_include(const PreprocessorLine& at, const SourceRules& rules) {
  std::string_view rest = trim(at.rest);
  char close = rest.starts_with('<') ? '>' : '"';
  std::size_t end = rest.empty() ? std::string_view::npos : rest.find(close, 1);
  if ((!rest.starts_with('<') && !rest.starts_with('"')) || end == std::string_view::npos) {
    return reject(at.line, "#include must name its file: <...> or \"...\"");
  }
  std::string_view header = rest.substr(1, end - 1);
  std::string_view after = trim(rest.substr(end + 1));
  bool clean = after.empty() || after.starts_with("//") || after.starts_with("/*");
  if (!clean) return reject(at.line, "#include has more than a file name");
  if (rules.may_include(header)) return {};
  return reject(at.line,
                fmt::format("'{}' may not be included{}", excerpt(header), rules.instead(header)));
}

Accepted<void> check_pragma(int line, std::string_view text) {
  std::string_view word = first_word(text);
  bool known =
      word.empty() || holds(kPragmas, word) || word.starts_with("nv_") || word.starts_with("diag_");
  if (word == "GCC") {
    word = first_word(text);
    known = holds(kGccPragmas, word);
  }
  if (known) return {};
  return reject(line, fmt::format("#pragma {} is not allowed in a candidate", excerpt(word)));
}

Accepted<void> check_preprocessor(const PreprocessorLine& at, const SourceRules& rules) {
  if (at.word == "include") return check_include(at, rules);
  if (at.word == "pragma") return check_pragma(at.line, at.rest);
  if (at.word == "/*") return reject(at.line, "a comment hides a preprocessor line");
  if (at.word == "line") return reject(at.line, "#line is not allowed in a candidate");
  bool marker =
      !at.word.empty() && at.word[0] >= '0' && at.word[0] <= '9' && trim(at.rest).starts_with('"');
  if (marker || holds(kFileReaders, at.word)) {
    return reject(at.line, fmt::format("#{} is not allowed in a candidate", at.word));
  }
  return {};
}

// Any assembler directive except alignment and local labels.
Accepted<void> check_machine_assembler(int line, std::string_view code) {
  constexpr std::array<std::string_view, 3> kAllowed{"align", "p2align", "balign"};
  constexpr std::array<std::string_view, 6> kSystem{"syscall", "sysenter", "int",
                                                    "svc",     "hvc",      "smc"};
  for (std::size_t at = 0; at < code.size();) {
    char before = at > 0 ? code[at - 1] : '\n';
    bool begins = !is_name_character(before) && before != '$' && before != '%';
    bool directive = code[at] == '.' && begins;
    std::size_t begin = directive ? at + 1 : at;
    std::size_t end = begin;
    while (end < code.size() && is_name_character(code[end])) ++end;
    std::string_view word = code.substr(begin, end - begin);
    bool label = word.starts_with('L');
    if (directive && !word.empty() && !label && !holds(kAllowed, word)) {
      return reject(line, fmt::format("asm may hold instructions only, not '.{}'", excerpt(word)));
    }
    std::string lower(word);
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (!directive && begins && holds(kSystem, lower)) {
      return reject(line, fmt::format("asm may not call the system ('{}')", word));
    }
    at = std::max(end, at + 1);
  }
  return {};
}

Accepted<void> check_ptx(int line, std::string_view code) {
  for (std::string_view word : {".incbin", ".include", ".file", ".section"}) {
    if (code.contains(word)) return reject(line, fmt::format("asm may not hold '{}'", word));
  }
  return {};
}

Accepted<void> check_assembler(const std::vector<SourceToken>& tokens, std::size_t at,
                               const SourceRules& rules) {
  constexpr std::array<std::string_view, 7> kQualifiers{
      "volatile", "__volatile__", "__volatile", "inline", "__inline__", "__inline", "goto"};
  int line = tokens[at].line;
  auto get = [&](std::size_t i) { return i < tokens.size() ? tokens[i] : SourceToken{}; };
  while (holds(kQualifiers, get(++at).text)) {
  }
  if (!get(at).is("(")) return reject(line, "asm is expected to be followed by '(\"...\")'");
  std::string code;
  while (get(++at).kind == Kind::string) code += literal_value(get(at).text);
  if (!get(at).is(")") && !get(at).is(":")) {
    return reject(line, "asm must hold its code as plain strings, without macros");
  }
  return rules.machine_assembler ? check_machine_assembler(line, code) : check_ptx(line, code);
}

// Finds names between the brackets of [[...]] and __attribute__((...)).
class AttributeWatch {
 public:
  Accepted<void> see(const SourceToken& token, const SourceToken& next) {
    if (depth_ == 0 && !armed_) {
      armed_ = token.is("__attribute__") || token.is("__attribute");
      bool square = token.is("[") && next.is("[");
      open_ = armed_ ? "(" : "[";
      close_ = armed_ ? ")" : "]";
      depth_ = square ? 1 : 0;
      return {};
    }
    armed_ = false;
    if (token.is(open_)) ++depth_;
    if (token.is(close_) && depth_ > 0) --depth_;
    bool forbidden =
        token.kind == Kind::word && holds(kForbiddenAttributes, without_underscores(token.text));
    if (depth_ == 0 || !forbidden) return {};
    return reject(token.line,
                  fmt::format("the attribute '{}' is not allowed in a candidate", token.text));
  }

 private:
  bool armed_ = false;  // the next token opens it
  int depth_ = 0;
  std::string_view open_;
  std::string_view close_;
};

Accepted<void> check_token(const std::vector<SourceToken>& tokens, std::size_t at,
                           const SourceRules& rules) {
  const SourceToken& token = tokens[at];
  SourceToken next = at + 1 < tokens.size() ? tokens[at + 1] : SourceToken{};
  if (token.kind == Kind::string) {
    std::string value = literal_value(token.text);
    if (value.contains("GCC dependency") || value.contains("pch_preprocess")) {
      return reject(token.line, "a pragma that reads files is not allowed in a candidate");
    }
    return {};
  }
  if (token.kind != Kind::word) return {};
  if (token.is("asm") || token.is("__asm__") || token.is("__asm")) {
    return check_assembler(tokens, at, rules);
  }
  if (holds(kForbiddenNames, token.text)) {
    return reject(token.line, fmt::format("'{}' is not allowed in a candidate", token.text));
  }
  bool imports = token.is("import") && (next.is("<") || next.kind == Kind::string);
  if (imports) return reject(token.line, "'import' is not allowed in a candidate");
  return {};
}

}  // namespace

Accepted<void> check_source(const SourceText& source, const SourceRules& rules) {
  for (const PreprocessorLine& line : source.preprocessor_lines()) {
    TRY(check_preprocessor(line, rules));
  }
  const std::vector<SourceToken>& tokens = source.tokens();
  AttributeWatch attributes;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // Trigraphs: old compilers read some as a preprocessor line or a line continuation.
    if (tokens[i].is("?") && i + 2 < tokens.size() && tokens[i + 1].is("?") &&
        (tokens[i + 2].is("=") || tokens[i + 2].is("/"))) {
      return reject(tokens[i].line, "a trigraph is not allowed in a candidate");
    }
    TRY(attributes.see(tokens[i], i + 1 < tokens.size() ? tokens[i + 1] : SourceToken{}));
    TRY(check_token(tokens, i, rules));
  }
  return {};
}

}  // namespace specgen
