#include "evaluate/candidate/directives.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

Directives parsed(std::string_view source) {
  auto result = parse_directives(source);
  if (!result) {
    ADD_FAILURE() << result.error().line << ": " << result.error().reason;
    return {};
  }
  return std::move(*result);
}

// "3: reason"
std::string refusal(std::string_view source) {
  auto result = parse_directives(source);
  if (result) return "accepted";
  return std::to_string(result.error().line) + ": " + result.error().reason;
}

std::string launch_refusal(std::string_view launch) {
  return refusal("// specgen:launch " + std::string(launch));
}

LaunchSpec launched(std::string_view launch) {
  Directives directives = parsed("// specgen:launch " + std::string(launch));
  return directives.launches.empty() ? LaunchSpec{} : directives.launches[0];
}

TEST(Directives, of_the_documented_example_are_all_read) {
  Directives directives = parsed(R"(// specgen:tune BLOCK = 128, 256, 512
// specgen:scratch partial f32[rows, ceildiv(cols, 4096)]
// specgen:zero partial
  //   specgen:tensormap t = tiled(x, box(64, 2*BLOCK), swizzle 128)
// specgen:launch row_max<BLOCK><<<(ceildiv(cols, 4096), rows), BLOCK>>>(x, partial, rows, cols)
// specgen:launch ns::softmax<<<rows, BLOCK, 4*BLOCK, cluster=(2,1,1), cooperative>>>(x + 4*rows, y, eps, 1.5, t)
__global__ void softmax() {}
)");
  ASSERT_EQ(directives.tunables.size(), 1U);
  EXPECT_EQ(directives.tunables[0].name, "BLOCK");
  EXPECT_EQ(directives.tunables[0].values, (std::vector<std::int64_t>{128, 256, 512}));
  ASSERT_EQ(directives.scratch.size(), 1U);
  EXPECT_EQ(directives.scratch[0].name, "partial");
  EXPECT_TRUE(directives.scratch[0].zeroed);
  EXPECT_EQ(directives.scratch[0].shape.size(), 2U);
  ASSERT_EQ(directives.tensormaps.size(), 1U);
  EXPECT_EQ(directives.tensormaps[0].tensor, "x");
  EXPECT_EQ(directives.tensormaps[0].box.size(), 2U);
  EXPECT_EQ(directives.tensormaps[0].swizzle, 128);
  ASSERT_EQ(directives.launches.size(), 2U);
  const LaunchSpec& first = directives.launches[0];
  EXPECT_EQ(first.kernel, "row_max");
  EXPECT_EQ(first.template_arguments, std::vector<std::string>{"BLOCK"});
  EXPECT_EQ(first.grid[1].text(), "rows");
  EXPECT_EQ(first.grid[2].evaluate({}), 1);
  EXPECT_EQ(first.line, 5);
  const LaunchSpec& second = directives.launches[1];
  EXPECT_EQ(second.kernel, "ns::softmax");
  EXPECT_TRUE(second.cooperative);
  ASSERT_TRUE(second.cluster);
  EXPECT_EQ((*second.cluster)[0].evaluate({}), 2);
  EXPECT_EQ(second.shared_bytes.text(), "4*BLOCK");
  ASSERT_EQ(second.arguments.size(), 5U);
  EXPECT_EQ(std::get<PointerArgument>(second.arguments[0]).tensor, "x");
  EXPECT_EQ(std::get<PointerArgument>(second.arguments[0]).offset.text(), "4*rows");
  EXPECT_EQ(std::get<NamedArgument>(second.arguments[2]).name, "eps");
  EXPECT_EQ(std::get<RealArgument>(second.arguments[3]).value, 1.5);
}

TEST(Directives, stand_only_in_lines_that_begin_with_a_comment) {
  Directives directives = parsed(R"(int x;  // specgen:tune A = 1
/* specgen:tune B = 1
 * specgen:tune C = 1 */
const char* s = "// specgen:tune D = 1";
// about specgen:tune E = 1
//specgen:tune F = 1
)");
  ASSERT_EQ(directives.tunables.size(), 1U);
  EXPECT_EQ(directives.tunables[0].name, "F");
}

TEST(Directives, go_on_behind_a_backslash) {
  for (std::string_view source :
       {"\n// specgen:launch k<<<1, \\\n//    32>>>(x, \\  \n  y)\n",
        "\r\n// specgen:launch k<<<1, \\\r\n//    32>>>(x, \\\r\n  y)\r\n"}) {
    Directives directives = parsed(source);
    ASSERT_EQ(directives.launches.size(), 1U);
    EXPECT_EQ(directives.launches[0].arguments.size(), 2U);
    EXPECT_EQ(directives.launches[0].line, 2);
  }
}

TEST(Directives, that_are_misspelt_are_refused_with_the_nearest) {
  EXPECT_EQ(refusal("\n// specgen:lunch k<<<1,1>>>()"),
            "2: specgen:lunch is not known; did you mean 'launch'?");
  EXPECT_EQ(refusal("// specgen:xyz"), "1: specgen:xyz is not known");
  EXPECT_EQ(refusal("// specgen:"), "1: specgen: is not known");
}

TEST(Directives, refuse_what_is_not_a_source) {
  EXPECT_EQ(refusal(""), "0: the source is empty");
  EXPECT_EQ(refusal(" \n\t\n"), "0: the source is empty");
  EXPECT_EQ(refusal(std::string_view("a\nb\0c", 5)),
            "2: the source is not text: it has a NUL byte");
  for (std::string_view bad : {"\x80", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",
                               "\xF5\x80\x80\x80", "\xF4\x90\x80\x80", "\xE2\x9C", "\xFF"}) {
    EXPECT_EQ(refusal("x" + std::string(bad)), "1: the source is not UTF-8 text");
  }
  EXPECT_EQ(refusal("\xC3\xA9 \xE2\x9C\x93 \xF0\x9F\x98\x80"), "accepted");
  EXPECT_EQ(refusal(std::string(10 << 20, 'x')), "0: the source has 10.0 MiB; the limit is 1 MiB");
  EXPECT_EQ(refusal(std::string(1 << 20, 'x')), "accepted");
}

TEST(Tune, takes_numbers_and_nothing_else) {
  EXPECT_EQ(parsed("// specgen:tune A = -1, 2*8").tunables[0].values,
            (std::vector<std::int64_t>{-1, 16}));
  EXPECT_EQ(refusal("// specgen:tune A"), "1: specgen:tune: '=' is missing: NAME = 128, 256");
  EXPECT_EQ(refusal("// specgen:tune A = 1, B"), "1: specgen:tune: 'B' is not an integer");
  EXPECT_EQ(refusal("// specgen:tune A = 1,"), "1: specgen:tune: an expression is missing");
  EXPECT_EQ(refusal("// specgen:tune A = 1, 1"), "1: specgen:tune: A has the value 1 twice");
  EXPECT_EQ(refusal("// specgen:tune 3A = 1"), "1: specgen:tune: '3A' is not a name");
  EXPECT_EQ(refusal("// specgen:tune A = 1/0"), "1: specgen:tune: '1/0' is not an integer");
}

TEST(Tune, refuses_names_that_would_break_what_is_around_the_candidate) {
  for (std::string name : {"int", "return", "specgen_barrier", "SPECGEN_DTYPE", "_A", "a__b",
                           "ceildiv", "scratch", "sizeof_T"}) {
    EXPECT_EQ(refusal("// specgen:tune " + name + " = 1"),
              "1: specgen:tune: '" + name + "' is a reserved name: take another");
  }
}

TEST(Names, are_declared_once) {
  EXPECT_EQ(refusal("// specgen:tune A = 1\n// specgen:scratch A f32[4]"),
            "2: specgen:scratch: 'A' is declared twice");
  EXPECT_EQ(refusal("// specgen:tensormap m = tiled(x, box(8))\n// specgen:tune m = 1"),
            "2: specgen:tune: 'm' is declared twice");
  EXPECT_EQ(refusal("// specgen:zero y, y"), "1: specgen:zero: 'y' appears twice");
}

TEST(Limits, of_directives_hold_exactly) {
  auto tunables = [](int count) {
    std::string source;
    for (int i = 0; i < count; ++i) source += "// specgen:tune A" + std::to_string(i) + " = 1\n";
    return source;
  };
  EXPECT_EQ(refusal(tunables(8)), "accepted");
  EXPECT_EQ(refusal(tunables(9)), "9: specgen:tune: there are more than 8 tunables");
  auto values = [](int count) {
    std::string source = "// specgen:tune A = 0";
    for (int i = 1; i < count; ++i) source += ", " + std::to_string(i);
    return source;
  };
  EXPECT_EQ(refusal(values(32)), "accepted");
  EXPECT_EQ(refusal(values(33)), "1: specgen:tune: A has more than 32 values");
  auto repeat = [](std::string_view line, int count) {
    std::string source;
    for (int i = 0; i < count; ++i) source += std::string(line) + "\n";
    return source;
  };
  EXPECT_EQ(refusal(repeat("// specgen:launch k<<<1,1>>>()", 16)), "accepted");
  EXPECT_EQ(refusal(repeat("// specgen:launch k<<<1,1>>>()", 17)),
            "17: specgen:launch: there are more than 16 launches");
  std::string scratch;
  for (int i = 0; i < 65; ++i) {
    scratch += "// specgen:scratch s" + std::to_string(i) + " f32[1]\n";
  }
  EXPECT_EQ(refusal(scratch), "65: there are more than 64 specgen: lines");
  auto arguments = [](int count) {
    std::string text = "k<<<1,1>>>(1";
    for (int i = 1; i < count; ++i) text += ", 1";
    return text + ")";
  };
  EXPECT_EQ(launch_refusal(arguments(64)), "accepted");
  EXPECT_EQ(launch_refusal(arguments(65)), "1: specgen:launch: there are more than 64 arguments");
}

TEST(Scratch, is_bytes_or_a_named_buffer) {
  Directives bytes = parsed("// specgen:scratch 4*cols + 8");
  EXPECT_EQ(bytes.scratch[0].name, "");
  EXPECT_EQ(bytes.scratch[0].dtype, Dtype::u8);
  EXPECT_EQ(bytes.scratch[0].shape[0].text(), "4*cols + 8");
  EXPECT_EQ(parsed("// specgen:scratch rows * cols").scratch[0].name, "");
  EXPECT_EQ(parsed("// specgen:scratch ceildiv(rows, 2)").scratch[0].name, "");
  EXPECT_EQ(parsed("// specgen:scratch s bf16[4]").scratch[0].dtype, Dtype::bf16);
  EXPECT_EQ(refusal("// specgen:scratch"),
            "1: specgen:scratch: a size in bytes is expected, or NAME DTYPE[dimensions]");
  EXPECT_EQ(refusal("// specgen:scratch s float[4]"),
            "1: specgen:scratch: 'float' is not a dtype: f64, f32, f16, bf16, i64, i32 or u8 is "
            "expected");
  EXPECT_EQ(refusal("// specgen:scratch s f32"),
            "1: specgen:scratch: 's' has no dimensions: s f32[rows, 4]");
  EXPECT_EQ(refusal("// specgen:scratch s f32[]"), "1: specgen:scratch: an expression is missing");
  EXPECT_EQ(refusal("// specgen:scratch f32[4]"),
            "1: specgen:scratch: NAME DTYPE[dimensions] is expected");
  EXPECT_EQ(refusal("// specgen:scratch 4\n// specgen:scratch 8"),
            "2: specgen:scratch: there is one scratch buffer, and it has its size");
}

TEST(Zero, finds_scratch_that_is_declared_below_and_leaves_other_names_to_the_task) {
  Directives directives = parsed("// specgen:zero s, y\n// specgen:scratch s f32[4]");
  EXPECT_TRUE(directives.scratch[0].zeroed);
  ASSERT_EQ(directives.zeroed_outputs.size(), 1U);
  EXPECT_EQ(directives.zeroed_outputs[0].name, "y");
  EXPECT_EQ(refusal("// specgen:zero"), "1: specgen:zero: '' is not a name");
}

TEST(Tensormap, has_one_form) {
  EXPECT_EQ(parsed("// specgen:tensormap t = tiled(x, box(8))").tensormaps[0].swizzle, 0);
  EXPECT_EQ(refusal("// specgen:tensormap t = tiled(x, box(8), swizzle 48)"),
            "1: specgen:tensormap: 'swizzle 48' is not swizzle 0, 32, 64 or 128");
  EXPECT_EQ(refusal("// specgen:tensormap t = tiled(x, 8)"),
            "1: specgen:tensormap: '8' is not box(...)");
  EXPECT_EQ(refusal("// specgen:tensormap t = tiled(x, box(1,1,1,1,1,1))"),
            "1: specgen:tensormap: box has 6 dimensions; the limit is 5");
  EXPECT_EQ(refusal("// specgen:tensormap t = im2col(x)"),
            "1: specgen:tensormap: NAME = tiled(tensor, box(64, 64), swizzle 128) is expected");
}

TEST(Launch, splits_template_arguments_outside_of_brackets) {
  LaunchSpec launch = launched("k<Tile<BLOCK, 4>, (A > 2), float, true><<<1, 2>>>()");
  EXPECT_EQ(launch.template_arguments,
            (std::vector<std::string>{"Tile<BLOCK, 4>", "(A > 2)", "float", "true"}));
  EXPECT_EQ(launched("k<Tile<int>><<<1, 2>>>()").template_arguments,
            std::vector<std::string>{"Tile<int>"});
  EXPECT_EQ(launch_refusal("k<a;b><<<1,1>>>()"),
            "1: specgen:launch: ';' is not allowed in template arguments");
  EXPECT_EQ(launch_refusal("k<a,><<<1,1>>>()"), "1: specgen:launch: a template argument is empty");
}

TEST(Launch, takes_the_options_in_any_order) {
  LaunchSpec launch = launched("k<<<1, 2, cooperative, cluster = (1, 2)>>>()");
  EXPECT_TRUE(launch.cooperative);
  EXPECT_TRUE(launch.cluster);
  EXPECT_EQ(launch.shared_bytes.evaluate({}), 0);
  EXPECT_EQ(launch_refusal("k<<<1, 2, cooperative, 48>>>()"),
            "1: specgen:launch: '48' is neither 'cooperative' nor 'cluster=(x,y,z)'");
  EXPECT_EQ(launch_refusal("k<<<1, 2, cooperative, cooperative>>>()"),
            "1: specgen:launch: 'cooperative' appears twice");
}

TEST(Launch, takes_lists_expressions_and_dim3_as_grid) {
  EXPECT_EQ(launched("k<<<(rows + 1) * 2, 1>>>()").grid[0].text(), "(rows + 1) * 2");
  EXPECT_EQ(launched("k<<<dim3(4, 5), 1>>>();").grid[1].evaluate({}), 5);
  EXPECT_EQ(launched("k<<<(7), 1>>>()").grid[0].evaluate({}), 7);
}

TEST(Launch, says_what_is_wrong_with_it) {
  EXPECT_EQ(launch_refusal("k(x)"), "1: specgen:launch: '<<<' is missing");
  EXPECT_EQ(launch_refusal(""), "1: specgen:launch: the name of a kernel is missing");
  EXPECT_EQ(launch_refusal("k-1<<<1,1>>>()"), "1: specgen:launch: 'k-1' is not a name");
  EXPECT_EQ(launch_refusal("k<float<<<1,1>>>()"),
            "1: specgen:launch: the template arguments are not closed");
  EXPECT_EQ(launch_refusal("k<<<1,1>>"), "1: specgen:launch: '>>>' is missing");
  EXPECT_EQ(launch_refusal("k<<<(1,2,3,4), 1>>>()"),
            "1: specgen:launch: grid has 4 dimensions; the limit is 3");
  EXPECT_EQ(launch_refusal("k<<<1>>>()"), "1: specgen:launch: block is missing");
  EXPECT_EQ(launch_refusal("k<<<,1>>>()"), "1: specgen:launch: grid is missing");
  EXPECT_EQ(launch_refusal("k<<<1,1>>>"),
            "1: specgen:launch: '(arguments)' is expected behind '>>>'");
  EXPECT_EQ(launch_refusal("k<<<1,1>>>(x) + 1"),
            "1: specgen:launch: '(arguments)' is expected behind '>>>'");
  EXPECT_EQ(launch_refusal("k<<<1,1>>>(x,,y)"), "1: specgen:launch: an argument is empty");
  EXPECT_EQ(launch_refusal("k<<<1,1>>>(1e999)"), "1: specgen:launch: '1e999' is out of range");
}

TEST(Launch, distinguishes_fractions_from_integers) {
  LaunchSpec launch = launched("k<<<1,1>>>(1.5, 1e-5f, -0.5, 12, .5, rows - 1, x.0)");
  EXPECT_EQ(std::get<RealArgument>(launch.arguments[1]).value, 1e-5);
  EXPECT_EQ(std::get<RealArgument>(launch.arguments[2]).value, -0.5);
  EXPECT_EQ(std::get<IntegerArgument>(launch.arguments[3]).value.text(), "12");
  EXPECT_EQ(std::get<RealArgument>(launch.arguments[4]).value, 0.5);
  EXPECT_EQ(std::get<IntegerArgument>(launch.arguments[5]).value.text(), "rows - 1");
  EXPECT_EQ(std::get<NamedArgument>(launch.arguments[6]).name, "x.0");
}

TEST(Launch, survives_hostile_nesting) {
  std::string deep(100000, '(');
  EXPECT_NE(launch_refusal("k<<<" + deep + ",1>>>()"), "accepted");
  EXPECT_NE(launch_refusal("k<" + std::string(100000, '<') + "<<<1,1>>>()"), "accepted");
  EXPECT_NE(launch_refusal("k<<<1,1>>>(" + deep + ")"), "accepted");
}

TEST(TunableValues, are_the_first_ones_or_those_chosen) {
  Directives directives = parsed("// specgen:tune A = 1, 2\n// specgen:tune BLOCK = 64, 128");
  EXPECT_EQ(*tunable_values(directives, {}), (Values{{"A", 1}, {"BLOCK", 64}}));
  EXPECT_EQ(*tunable_values(directives, {{"BLOCK", 128}}), (Values{{"A", 1}, {"BLOCK", 128}}));
  EXPECT_EQ(tunable_values(directives, {{"BLCK", 128}}).error().reason,
            "'BLCK' is not a tunable; did you mean 'BLOCK'?");
  Rejection undeclared = tunable_values(directives, {{"BLOCK", 96}}).error();
  EXPECT_EQ(undeclared.reason, "BLOCK has no value 96: it has 64, 128");
  EXPECT_EQ(undeclared.line, 2);
}

TEST(Directives, other_values_can_become_the_defaults) {
  const std::string source =
      "\xEF\xBB\xBF// a kernel\n"
      "  // specgen:tune B = 128, 256, \\\n"
      "  //   512\n"
      "// specgen:tune U = 1, 4\r\n"
      "int x; // specgen:tune is not said here\n"
      "// specgen:tune W = 2, 3";
  auto changed = with_defaults(source, {{"B", 512}, {"W", 3}});
  ASSERT_TRUE(changed);
  EXPECT_EQ(*changed,
            "\xEF\xBB\xBF// a kernel\n"
            "  // specgen:tune B = 512, 128, 256\n"
            "// specgen:tune U = 1, 4\r\n"
            "int x; // specgen:tune is not said here\n"
            "// specgen:tune W = 3, 2");
  EXPECT_EQ(tunable_values(*parse_directives(*changed), {}),
            (Values{{"B", 512}, {"U", 1}, {"W", 3}}));
  EXPECT_EQ(*with_defaults(source, {{"B", 128}}), source);
  EXPECT_FALSE(with_defaults(source, {{"B", 64}}));
  EXPECT_FALSE(with_defaults(source, {{"C", 64}}));
}

}  // namespace
}  // namespace specgen
