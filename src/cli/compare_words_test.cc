#include "cli/compare_words.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using Words = std::vector<std::string>;

CompareSystems parsed(Words words) {
  words.insert(words.begin(), "compare");
  auto invocation = parse_specgen(words);
  EXPECT_TRUE(invocation) << invocation.error().text();
  return invocation ? std::get<CompareSystems>(invocation->what) : CompareSystems();
}

TEST(CompareWords, that_are_not_given_say_nothing) {
  CompareSystems command = parsed({"--virtual"});
  EXPECT_TRUE(command.is_virtual);
  EXPECT_EQ(command.tasks + command.pace + command.devices, "")
      << "a value here is one that somebody asked for";
  EXPECT_EQ(command.iterations, 0);
}

TEST(CompareWords, are_taken_as_they_are_given) {
  CompareSystems command = parsed({"--tasks", "gelu", "--pace", "150", "--devices", "cpu:0",
                                   "--over-http", "--out", "d", "--iterations", "4"});
  EXPECT_EQ(command.tasks + " " + command.pace + " " + command.devices, "gelu 150 cpu:0");
  EXPECT_TRUE(command.over_http);
  EXPECT_EQ(command.out, "d");
  EXPECT_EQ(command.iterations, 4);
}

TEST(CompareWords, tell_what_is_usual_in_virtual_time_and_for_real) {
  auto help = parse_specgen(Words{"compare", "--help"});
  ASSERT_TRUE(help);
  const std::string& text = std::get<ShowText>(help->what).text;
  EXPECT_TRUE(text.contains("the scenario's in virtual time, 6 for real")) << text;
  EXPECT_TRUE(text.contains("specgen-comparison for real")) << text;
}

}  // namespace
}  // namespace specgen
