#include "schedule/normalised_source.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

bool equal(std::string_view a, std::string_view b) {
  return normalised_source(a) == normalised_source(b);
}

TEST(NormalisedSource, white_space_and_comments_make_no_difference) {
  EXPECT_TRUE(equal("int f(int a) { return a + 1; }",
                    "int  f( int a )\n{\n\treturn a+1; // one more\n}\n"));
  EXPECT_TRUE(equal("a = b /* what */ * c;", "a=b*c;"));
  EXPECT_TRUE(equal("x /* unfinished", "x"));
  EXPECT_TRUE(equal("", " \n // nothing\n"));
}

TEST(NormalisedSource, space_between_tokens_stays) {
  EXPECT_FALSE(equal("int a;", "inta;"));
  EXPECT_FALSE(equal("a + +b", "a ++b"));
  EXPECT_FALSE(equal("a/**/b", "ab"));
  EXPECT_TRUE(equal("a/**/b", "a b"));
  EXPECT_FALSE(equal("1 .5", "1.5"));
}

TEST(NormalisedSource, literals_are_unchanged) {
  EXPECT_FALSE(equal("s = \"a  b\";", "s = \"a b\";"));
  EXPECT_FALSE(equal("s = \"// a\";", "s = \"// b\";"));
  EXPECT_FALSE(equal("s = \"\\\" /* a */\";", "s = \"\\\" /* b */\";"));
  EXPECT_FALSE(equal("c = '\"'; // a\"", "c = ' '; // a\""));
  EXPECT_FALSE(equal("R\"x(a // b)\" )x\" + 1", "R\"x(a // c)\" )x\" + 1"));
  EXPECT_TRUE(equal("n = 1'000; // it's", "n = 1'000;"));
  EXPECT_FALSE(equal("n = 1'000'0; a", "n = 1'000'1; a"));
}

TEST(NormalisedSource, preprocessor_lines_stay_lines) {
  EXPECT_FALSE(equal("#define A 1\nb", "#define A 1 b"));
  EXPECT_FALSE(equal("#define F (x)", "#define F(x)"));
  EXPECT_TRUE(equal("#define  A   1 // one\nb", "#define A 1\n\n\nb"));
  EXPECT_TRUE(equal("#define A \\\n 1\nb", "#define A 1\nb"));
}

TEST(NormalisedSource, specgen_lines_are_not_comments) {
  EXPECT_FALSE(equal("// specgen:tune B = 1, 2\nint x;", "// specgen:tune B = 1, 3\nint x;"));
  EXPECT_FALSE(equal("// specgen:scratch p f32[4]\nint x;", "int x;"));
  EXPECT_TRUE(equal("//   specgen:tune  B = 1\nint x;", "// specgen:tune B = 1\n\n  int x;"));
}

}  // namespace
}  // namespace specgen
