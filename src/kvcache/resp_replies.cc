#include "kvcache/resp_replies.h"

#include <charconv>
#include <string>

namespace specgen::resp {
namespace {

void add_line(ReplyQueue& replies, char kind, std::int64_t number) {
  char line[32];
  line[0] = kind;
  char* end = std::to_chars(line + 1, line + sizeof line - 2, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  replies.add({line, static_cast<std::size_t>(end - line)});
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

void add_number(ReplyQueue& replies, std::int64_t number) {
  add_line(replies, ':', number);
}

void add_bulk(ReplyQueue& replies, std::string_view text) {
  add_line(replies, '$', static_cast<std::int64_t>(text.size()));
  replies.add(text);
  replies.add("\r\n");
}

void add_array(ReplyQueue& replies, std::size_t count) {
  add_line(replies, '*', static_cast<std::int64_t>(count));
}

void add_map(ReplyQueue& replies, std::size_t count, bool resp3) {
  if (resp3) {
    add_line(replies, '%', static_cast<std::int64_t>(count));
  } else {
    add_array(replies, 2 * count);
  }
}

void add_error(ReplyQueue& replies, std::string_view before, std::string_view quoted,
               std::string_view after) {
  constexpr std::size_t kQuoted = 64;
  std::string line = "-ERR ";
  line += before;
  for (char c : quoted.substr(0, kQuoted)) line += c >= ' ' && c <= '~' ? c : '?';
  line += after;
  line += "\r\n";
  replies.add(line);
}

}  // namespace specgen::resp
