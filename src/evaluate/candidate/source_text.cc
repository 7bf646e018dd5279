#include "evaluate/candidate/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "base/units.h"

namespace specgen {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_word(char c) {  // a byte of a non-ASCII letter too
  return is_letter(c) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_word(char c) {
  return begins_word(c) || is_digit(c);
}
bool is_blank(char c) {
  return c != '\n' && c != '\r' && is_space(c);
}

bool is_raw_prefix(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kPrefixes{"R", "LR", "uR", "UR", "u8R"};
  return std::ranges::find(kPrefixes, word) != kPrefixes.end();
}
bool is_literal_prefix(std::string_view word) {
  static constexpr std::array<std::string_view, 4> kPrefixes{"L", "u", "U", "u8"};
  return std::ranges::find(kPrefixes, word) != kPrefixes.end();
}

std::size_t end_of_quoted(std::string_view text, std::size_t quote) {
  for (std::size_t i = quote + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[quote]) {
      return i + 1;
    } else if (text[i] == '\n') {
      return i;  // not closed: a stray quote must not hide the rest of the file
    }
  }
  return text.size();
}

struct RawString {
  std::size_t content;
  std::size_t content_end;
  std::size_t end;
};
std::optional<RawString> raw_string(std::string_view text, std::size_t quote) {
  constexpr std::size_t kMaxDelimiter = 16;
  std::string_view ahead = text.substr(quote + 1, kMaxDelimiter + 1);
  std::size_t open = ahead.find('(');
  if (open == npos || ahead.substr(0, open).find_first_of(" \t\n\\)") != npos) return std::nullopt;
  std::string closing = ")" + std::string(ahead.substr(0, open)) + "\"";
  std::size_t content = quote + open + 2;
  std::size_t close = text.find(closing, content);
  if (close == npos) return RawString{content, text.size(), text.size()};
  return RawString{content, close, close + closing.size()};
}

}  // namespace

Accepted<void> check_text(std::string_view source) {
  if (source.size() > kMaxBytes) {
    return reject(0, fmt::format("the source has {}; the limit is 1 MiB",
                                 format_bytes(Bytes{source.size()})));
  }
  int line = 1;
  bool blank = true;
  for (std::size_t at = 0; at < source.size();) {
    std::size_t length = character_length(source.substr(at));
    if (length == 0) return reject(line, "the source is not UTF-8 text");
    if (source[at] == '\0') return reject(line, "the source is not text: it has a NUL byte");
    if (source[at] == '\n') ++line;
    blank &= is_space(source[at]);
    at += length;
  }
  if (blank) return reject(0, "the source is empty");
  return {};
}

SourceText::SourceText(std::string_view source) {
  if (source.starts_with("\xEF\xBB\xBF")) source.remove_prefix(3);
  join_lines(source);
  find_preprocessor_lines();
  find_tokens();
}

// Compilers differ in whether blanks may follow the backslash and whether a lone carriage return
// ends a line: both are taken as yes, which only finds more beginnings of lines.
void SourceText::join_lines(std::string_view source) {
  text_.reserve(source.size() + 1);
  int line = 1;
  starts_.push_back({0, line});
  std::size_t at = 0;
  auto take_newline = [&] {
    if (source[at] == '\r' && at + 1 < source.size() && source[at + 1] == '\n') ++at;
    if (source[at] == '\n') ++line;
    ++at;
  };
  while (at < source.size()) {
    char c = source[at];
    if (c == '\n' || c == '\r') {
      take_newline();
      text_ += '\n';
      starts_.push_back({text_.size(), line});
      continue;
    }
    if (c == '\\') {
      std::size_t after = at + 1;
      while (after < source.size() && is_blank(source[after])) ++after;
      if (after < source.size() && (source[after] == '\n' || source[after] == '\r')) {
        at = after;
        take_newline();
        starts_.push_back({text_.size(), line});
        continue;
      }
    }
    text_ += c;
    ++at;
  }
}

int SourceText::line_of(std::size_t at) const {
  auto after = std::ranges::upper_bound(starts_, at, {}, &Start::at);
  return std::prev(after)->line;
}

void SourceText::find_preprocessor_lines() {
  std::string_view text = text_;
  std::size_t line_end = 0;
  auto scan_from = [&](std::size_t at) {
    std::size_t begin = at;
    while (at < text.size() && is_blank(text[at])) ++at;
    std::string_view ahead = text.substr(at, 2);
    if (ahead.starts_with('#')) {
      at += 1;
    } else if (ahead == "%:") {
      at += 2;
    } else {
      return;
    }
    bool hidden = false;
    while (at < text.size()) {
      if (is_blank(text[at])) {
        ++at;
      } else if (text.substr(at, 2) == "/*") {
        std::size_t close = text.find("*/", at + 2);
        hidden |= close == npos || text.substr(at, close - at).contains('\n');
        if (hidden) break;
        at = close + 2;
      } else {
        break;
      }
    }
    std::size_t word = at;
    while (at < text.size() && is_word(text[at])) ++at;
    if (line_end < at || line_end == 0) line_end = std::min(text.find('\n', at), text.size());
    preprocessor_lines_.push_back({line_of(begin),
                                   hidden ? std::string_view("/*") : text.substr(word, at - word),
                                   text.substr(at, std::max(line_end, at) - at)});
  };
  std::size_t next_comment = text.find("*/");
  std::size_t last = npos;
  for (std::size_t i = 0; i < starts_.size() || next_comment != npos;) {
    std::size_t start = i < starts_.size() ? starts_[i].at : npos;
    std::size_t after_comment = next_comment == npos ? npos : next_comment + 2;
    std::size_t at = std::min(start, after_comment);
    if (start == at) ++i;
    if (after_comment == at) next_comment = text.find("*/", at);
    if (at != last) scan_from(at);
    last = at;
  }
}

void SourceText::find_tokens() {
  std::string_view text = text_;
  using Kind = SourceToken::Kind;
  std::size_t start_index = 0;
  auto add = [&](Kind kind, std::size_t begin, std::size_t end) {
    while (start_index + 1 < starts_.size() && starts_[start_index + 1].at <= begin) ++start_index;
    tokens_.push_back({kind, text.substr(begin, end - begin), starts_[start_index].line});
    return end;
  };
  for (std::size_t at = 0; at < text.size();) {
    char c = text[at];
    if (is_space(c)) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      std::size_t close = text.find("*/", at + 2);
      at = close == npos ? text.size() : close + 2;
    } else if (begins_word(c)) {
      std::size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      std::string_view word = text.substr(at, end - at);
      char next = end < text.size() ? text[end] : ' ';
      std::optional<RawString> raw;
      if (next == '"' && is_raw_prefix(word)) raw = raw_string(text, end);
      if (raw) {
        at = add(Kind::string, at, raw->end);
      } else if ((next == '"' || next == '\'') && is_literal_prefix(word)) {
        at = add(next == '"' ? Kind::string : Kind::character, at, end_of_quoted(text, end));
      } else {
        at = add(Kind::word, at, end);
      }
    } else if (is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
      std::size_t end = at + 1;  // a preprocessing number, with separators: 1'000, 0x1p-3
      while (end < text.size()) {
        bool separated = text[end] == '\'' && end + 1 < text.size() && is_word(text[end + 1]);
        bool sign = (text[end] == '+' || text[end] == '-') &&
                    std::string_view("eEpP").contains(text[end - 1]);
        if (!is_word(text[end]) && text[end] != '.' && !separated && !sign) break;
        ++end;
      }
      at = add(Kind::number, at, end);
    } else if (c == '"' || c == '\'') {
      at = add(c == '"' ? Kind::string : Kind::character, at, end_of_quoted(text, at));
    } else {
      at = add(Kind::mark, at, at + 1);
    }
  }
}

std::string literal_value(std::string_view literal) {
  std::size_t quote = literal.find('"');
  if (quote == npos) return {};
  if (is_raw_prefix(literal.substr(0, quote))) {
    if (auto raw = raw_string(literal, quote)) {
      return std::string(literal.substr(raw->content, raw->content_end - raw->content));
    }
  }
  std::string_view body = literal.substr(quote + 1);
  if (body.ends_with('"')) body.remove_suffix(1);
  std::string value;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      value += body[i];
      continue;
    }
    char c = body[++i];
    unsigned code = 0;
    if (c == 'x' || c == 'u' || c == 'U') {
      auto digit = [&](char d) {
        return is_digit(d)              ? d - '0'
               : (d >= 'a' && d <= 'f') ? d - 'a' + 10
               : (d >= 'A' && d <= 'F') ? d - 'A' + 10
                                        : -1;
      };
      std::size_t most = c == 'x' ? body.size() : c == 'u' ? 4 : 8;
      for (std::size_t n = 0; n < most && i + 1 < body.size() && digit(body[i + 1]) >= 0; ++n) {
        code = code * 16 + static_cast<unsigned>(digit(body[++i]));
      }
      value += static_cast<char>(code);
    } else if (c >= '0' && c <= '7') {
      for (int n = 0; n < 3 && i < body.size() && body[i] >= '0' && body[i] <= '7'; ++n, ++i) {
        code = code * 8 + static_cast<unsigned>(body[i] - '0');
      }
      --i;
      value += static_cast<char>(code);
    } else {
      constexpr std::string_view kNames = "ntrvfab";
      constexpr std::string_view kValues = "\n\t\r\v\f\a\b";
      std::size_t known = kNames.find(c);
      value += known == npos ? c : kValues[known];
    }
  }
  return value;
}

}  // namespace specgen
