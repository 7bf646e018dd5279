#include "evaluate/cpu/cpu_toolchain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/subprocess.h"
#include "runtime/testing.h"

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

// Compiles for a task `scale` with one input, one output, one axis and one scalar; without a sandbox.
struct SignatureFixture : testing::Test {
  SignatureFixture() {
    task.name = "scale";
    task.inputs = {{.name = "x", .dtype = Dtype::f32, .shape = {}, .data = {}}};
    task.outputs = {{.name = "y", .dtype = Dtype::f32, .shape = {}, .data = {}}};
    task.axes = {{.name = "n"}};
    task.scalars = {{.name = "factor"}};
  }
  Finding compile(std::string source) {
    return runtime.loop.run(toolchain.compile(task, std::move(source), {})).value().finding;
  }

  RealRuntime runtime;
  Processes processes{runtime.loop, runtime.driver};
  Sandbox sandbox;
  JudgeContext context{
      .loop = runtime.loop, .driver = runtime.driver, .processes = processes, .sandbox = sandbox};
  CpuToolchain toolchain{context};
  KernelTask task;
  static constexpr std::string_view kExpected =
      "Expected: extern \"C\" void scale(const float* x, float* y, int64_t n, double factor, void* "
      "scratch, int tid, int nthreads);";
};

TEST_F(SignatureFixture, the_right_function_compiles_with_and_without_extern_c) {
  for (const char* linkage : {"extern \"C\" ", ""}) {
    Finding found = compile(std::string(linkage) +
                            "void scale(const float* x, float* y, int64_t n, double factor, void*, "
                            "int, int) { for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor; }");
    EXPECT_TRUE(found.ok()) << found.evidence.text;
  }
}

TEST_F(SignatureFixture,
       another_function_is_a_compile_error_that_names_the_line_and_the_signature) {
  for (const char* parameters : {
           "const float* x, float* y, int64_t n",                                        // fewer
           "const float* x, float* y, int64_t n, int64_t m, double f, void*, int, int",  // more
           "const float* x, float* y, int n, double f, void*, int, int",      // another type
           "const float* x, float* y, int64_t n, float f, void*, int, int",   // the same registers
           "float* y, const float* x, int64_t n, double f, void*, int, int",  // another order
       }) {
    Finding found = compile(fmt::format(
        "#include <cmath>\n\nextern \"C\" void scale({}) {{ y[0] = x[0]; }}\n", parameters));
    EXPECT_EQ(found.verdict, Verdict::compile_error) << parameters;
    EXPECT_EQ(found.evidence.line, 3) << found.evidence.text;
    EXPECT_TRUE(found.evidence.text.ends_with(kExpected)) << found.evidence.text;
  }
}

TEST_F(SignatureFixture, a_conflicting_function_in_a_namespace_is_a_compile_error_too) {
  Finding found = compile("namespace mine { extern \"C\" void scale(float* y) { y[0] = 0; } }");
  EXPECT_EQ(found.verdict, Verdict::compile_error);
  EXPECT_TRUE(found.evidence.text.ends_with(kExpected)) << found.evidence.text;
}

TEST_F(SignatureFixture, an_overload_without_extern_c_is_rejected_with_the_signature) {
  Finding found = compile("void scale(const float* x, float* y) { y[0] = x[0]; }");
  EXPECT_EQ(found.verdict, Verdict::rejected);
  EXPECT_TRUE(found.evidence.text.contains("'scale(float const*, float*)'")) << found.evidence.text;
  EXPECT_TRUE(found.evidence.text.ends_with(kExpected)) << found.evidence.text;
}

TEST_F(SignatureFixture, tunables_may_have_the_names_of_parameters) {
  Finding found = compile(
      "// specgen:tune n = 4, 8\n"
      "extern \"C\" void scale(const float* x, float* y, int64_t, double, void*, int, int) "
      "{ y[n] = x[n]; }");
  EXPECT_TRUE(found.ok()) << found.evidence.text;
}

}  // namespace
}  // namespace specgen
