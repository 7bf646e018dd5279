#include "kvcache/resp_parser.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

// The parsed commands as text: "GET|k", "SET|k=VALUE|EX|9", "!fault", separated by ;
std::string heard(const std::vector<std::string>& pieces, RespLimits limits = {}) {
  RespParser parser(limits);
  std::string all, value;
  std::size_t value_left = 0;
  for (const std::string& piece : pieces) {
    std::string_view bytes = piece;
    while (true) {
      std::size_t taken = std::min(value_left, bytes.size());
      value += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      value_left -= taken;
      if (value_left > 0) break;
      RespParser::Step step = parser.next(bytes);
      if (step == RespParser::Step::more) break;
      if (step == RespParser::Step::malformed) {
        return all + "!" + std::string(message_of(parser.why()));
      }
      if (step == RespParser::Step::value) {
        value.clear();
        value_left = parser.value_bytes();
        continue;
      }
      for (std::size_t i = 0; i < parser.count(); ++i) {
        if (i > 0) all += '|';
        all += parser.argument(i);
        if (i == 1 && parser.has_value()) all += "=" + value;
      }
      all += ';';
    }
  }
  return all + (parser.in_the_middle() ? "..." : "");
}

std::vector<std::string> byte_by_byte(std::string_view text) {
  std::vector<std::string> pieces;
  for (char c : text) pieces.emplace_back(1, c);
  return pieces;
}

constexpr std::string_view kTalk =
    "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
    "*5\r\n$3\r\nset\r\n$3\r\nkey\r\n$7\r\na\r\nb\r\nc\r\n$2\r\nEX\r\n$1\r\n9\r\n"
    "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n"
    "PING hello\r\n\r\n*0\r\nPING\n";
constexpr std::string_view kHeard = "GET|k;set|key=a\r\nb\r\nc|EX|9;SET|=;PING|hello;PING;";

TEST(RespParser, does_not_depend_on_the_split) {
  EXPECT_EQ(heard({std::string(kTalk)}), kHeard);
  EXPECT_EQ(heard(byte_by_byte(kTalk)), kHeard);
  for (std::size_t at = 1; at < kTalk.size(); ++at) {
    EXPECT_EQ(heard({std::string(kTalk.substr(0, at)), std::string(kTalk.substr(at))}), kHeard);
  }
}

TEST(RespParser, the_value_of_a_set_is_announced_before_its_bytes) {
  RespParser parser;
  std::string_view bytes = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$134217728\r\nabc";
  EXPECT_EQ(parser.next(bytes), RespParser::Step::value);
  EXPECT_EQ(parser.value_bytes(), 134217728u);
  EXPECT_EQ(parser.argument(1), "k");
  EXPECT_EQ(bytes, "abc");
  std::string_view end = "\r\n";
  EXPECT_EQ(parser.next(end), RespParser::Step::command);
}

TEST(RespParser, a_set_without_a_value_is_a_command_like_any_other) {
  EXPECT_EQ(heard({"*2\r\n$3\r\nSET\r\n$1\r\nk\r\n"}), "SET|k;");
  EXPECT_EQ(heard({"*1\r\n$3\r\nSET\r\n"}), "SET;");
}

TEST(RespParser, malformed_input_has_a_reason) {
  EXPECT_EQ(heard({"*x\r\n"}), "!a length or count is not a number");
  EXPECT_EQ(heard({"*1\r\n$-1\r\n"}), "!a length or count is not a number");
  EXPECT_EQ(heard({"*1\r\n$99999999999999999999\r\n"}), "!a length or count is not a number");
  EXPECT_EQ(heard({"*1" + std::string(100, '0')}), "!a length or count is not a number");
  EXPECT_EQ(heard({"*1\n"}), "!a line or argument does not end with CR LF");
  EXPECT_EQ(heard({"*1\r\n$4\r\nPINGPING\r\n"}), "!a line or argument does not end with CR LF");
  EXPECT_EQ(heard({"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nvv\r\n"}),
            "!a line or argument does not end with CR LF");
  EXPECT_EQ(heard({"*1\r\n:1\r\n"}), "!an argument is not a bulk string");
  EXPECT_EQ(heard({"POST / HTTP/1.1\r\n"}), "!this is not an HTTP server");
}

TEST(RespParser, limits_are_checked_before_anything_is_stored) {
  RespLimits limits{.arguments = 3, .text = 16, .value = 100};
  EXPECT_EQ(heard({"*4\r\n"}, limits), "!too many arguments");
  EXPECT_EQ(heard({"*2\r\n$17\r\n"}, limits), "!arguments are too long");
  EXPECT_EQ(heard({"*3\r\n$3\r\nGET\r\n$10\r\n0123456789\r\n$4\r\n"}, limits),
            "!arguments are too long");
  EXPECT_EQ(heard({"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$101\r\n"}, limits), "!a value is too large");
  EXPECT_EQ(heard({std::string(20000, 'a')}), "!arguments are too long");
}

TEST(RespParser, reports_an_incomplete_command) {
  EXPECT_EQ(heard({"*2\r\n$3\r\nGE"}), "...");
  EXPECT_EQ(heard({"PI"}), "...");
  EXPECT_EQ(heard({"*2\r\n$3\r\nGET\r\n$1\r\nk\r"}), "...");
  EXPECT_EQ(heard({"PING\r\n"}), "PING;");
}

}  // namespace
}  // namespace specgen
