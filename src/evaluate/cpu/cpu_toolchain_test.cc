#include "evaluate/cpu/cpu_toolchain.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace specgen {
namespace {

constexpr std::string_view kLog =
    "candidate.cc:3:9: missed: couldn't vectorize loop\n"
    "candidate.cc: In function 'void softmax()':\n"
    "candidate.cc:12:5: error: 'foo' was not declared in this scope\n"
    "   12 |     foo();\n"
    "      |     ^~~\n"
    "candidate.cc:14:5: optimized: loop vectorized using 32 byte vectors\n"
    "some noise\n"
    "candidate.cc:20:1: error: expected '}'\n";

TEST(ShortenedLog, keeps_errors_with_their_source_and_drops_remarks) {
  EXPECT_EQ(shortened_log(kLog, 20),
            "candidate.cc:12:5: error: 'foo' was not declared in this scope\n"
            "   12 |     foo();\n"
            "      |     ^~~\n"
            "candidate.cc:20:1: error: expected '}'\n");
}

TEST(ShortenedLog, has_at_most_the_requested_lines) {
  EXPECT_EQ(shortened_log(kLog, 1),
            "candidate.cc:12:5: error: 'foo' was not declared in this scope");
  std::string flood;
  for (int i = 0; i < 10000; ++i) flood += "candidate.cc:1:1: error: again\n";
  EXPECT_EQ(std::ranges::count(shortened_log(flood, 20), '\n'), 19);
}

TEST(ShortenedLog, without_an_error_keeps_other_lines) {
  EXPECT_EQ(shortened_log("\n\ng++: internal trouble\n\nsee manual\n", 20),
            "g++: internal trouble\nsee manual");
  EXPECT_EQ(shortened_log("", 20), "");
}

TEST(ShortenedLog, escapes_control_characters) {
  std::string text = shortened_log("candidate.cc:1:1: error: \x1b[31mred\x07\xff\n", 20);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(FirstErrorLine, is_the_first_in_the_candidates_own_text) {
  EXPECT_EQ(first_error_line(kLog, "candidate.cc"), 12);
  EXPECT_EQ(first_error_line("/usr/include/x.h:7:1: error: bad\ncandidate.cc:4:2: error: worse\n",
                             "candidate.cc"),
            4);
}

TEST(FirstErrorLine, is_zero_without_an_error) {
  for (std::string_view log :
       {"", "candidate.cc:9:1: warning: odd\n", "candidate.cc", "candidate.cc: error: no line\n",
        "candidate.cc:error:\n", "ld: undefined reference to `foo'\n"}) {
    EXPECT_EQ(first_error_line(log, "candidate.cc"), 0) << log;
  }
}

TEST(FirstErrorLine, is_never_negative_or_wrapped) {
  EXPECT_EQ(first_error_line("candidate.cc:-5:1: error: odd\n", "candidate.cc"), 0);
  EXPECT_EQ(first_error_line("candidate.cc:99999999999999999999:1: error: odd\n", "candidate.cc"),
            0);
}

}  // namespace
}  // namespace specgen
