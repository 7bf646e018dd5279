#include "evaluate/host/tool_run.h"

#include <gtest/gtest.h>

#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(ToolVersion, of_compilers_is_their_own_and_not_the_distributions) {
  EXPECT_EQ(compiler_version("g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022"),
            "12.2.0");
  EXPECT_EQ(compiler_version("g++ (crosstool-NG 1.24.0.133_b0863d8) 9.4.0\n"), "9.4.0");
  EXPECT_EQ(compiler_version("g++ (GCC) 11.4.1 20230605 (Red Hat 11.4.1-2)"), "11.4.1");
  EXPECT_EQ(compiler_version("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu"), "14.0.6");
  EXPECT_EQ(compiler_version("Ubuntu clang version 19.1.1 (1ubuntu1~24.04.2)\n"), "19.1.1");
  EXPECT_EQ(compiler_version("usage: c++ FILE"), "");
  EXPECT_EQ(compiler_version(""), "");
}

TEST(ToolVersion, of_nvcc_is_the_full_one) {
  EXPECT_EQ(nvcc_version("nvcc: NVIDIA (R) Cuda compiler driver\n"
                         "Built on Wed_Aug_20_01:58:59_PM_PDT_2025\n"
                         "Cuda compilation tools, release 13.0, V13.0.88\n"),
            "13.0.88");
  EXPECT_EQ(nvcc_version("nvcc fatal   : no input"), "");
}

TEST(ToolVersion, of_ncu_stops_before_the_build_number) {
  EXPECT_EQ(nsight_version("NVIDIA (R) Nsight Compute Command Line Profiler\n"
                           "Copyright (c) 2018-2025 NVIDIA Corporation\n"
                           "Version 2025.3.1.0 (build 36398880) (public-release)\n"),
            "2025.3.1.0");
}

TEST(ToolVersion, ends_without_the_dot_of_the_sentence) {
  EXPECT_EQ(number_after("this is Version 3.2.", "Version "), "3.2");
  EXPECT_EQ(number_after("Version next", "Version "), "");
}

TEST(Printable, keeps_text_and_removes_control_characters) {
  EXPECT_EQ(printable("error: \x1b[31mred\x1b[0m\ttext\n"), "error:  [31mred [0m text ");
  EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x9c\x93"), "caf\xc3\xa9 \xe2\x9c\x93");
  EXPECT_EQ(printable("caf\xe9!"), "caf?!");
  EXPECT_EQ(printable("cut \xe2\x9c"), "cut ??");
}

TEST(Printable, cuts_a_long_text_between_characters) {
  std::string cut = printable(std::string(239, 'x') + "\xc3\xa9\xc3\xa9");
  EXPECT_EQ(cut, std::string(239, 'x') + "\xc3\xa9...");
}

class RunTool : public testing::Test {
 protected:
  ToolRun run(std::string_view script, Duration limit = 10s) {
    return fixture_.run(
        run_tool(fixture_.processes, {.argv = {fakes_.add("tool", script)}, .time_limit = limit}));
  }
  FakeTools fakes_;
  ToolFixture fixture_;
};

TEST_F(RunTool, gives_the_output_of_a_tool_that_works) {
  ToolRun result = run("echo hello");
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.output, "hello\n");
  EXPECT_EQ(result.problem, "");
}

TEST_F(RunTool, reports_the_first_line_and_the_exit_code_of_one_that_fails) {
  ToolRun result = run("echo 'no such thing' >&2; echo 'more' >&2; exit 4");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.problem, "no such thing (exit code 4)");
}

TEST_F(RunTool, reports_the_signal_of_one_that_crashes) {
  EXPECT_EQ(run("kill -SEGV $$").problem.substr(0, 9), "signal 11");
}

TEST_F(RunTool, cuts_one_that_hangs) {
  Time start = fixture_.loop.now();
  EXPECT_EQ(run("sleep 100", 200ms).problem, "no answer within 200 ms");
  EXPECT_LT(fixture_.loop.now() - start, 10s);
}

TEST_F(RunTool, asks_in_english) {
  EXPECT_EQ(run("echo $LC_ALL $LANGUAGE").output, "C\n");
}

TEST_F(RunTool, says_that_a_program_is_not_there) {
  ToolRun result = fixture_.run(run_tool(fixture_.processes, {.argv = {"/nowhere/tool"}}));
  EXPECT_EQ(result.problem, "a required program is not installed: /nowhere/tool");
}

}  // namespace
}  // namespace specgen
