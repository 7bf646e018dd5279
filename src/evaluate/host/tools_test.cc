#include "evaluate/host/tools.h"

#include <gtest/gtest.h>

#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(Counters, are_for_all_users_only_if_the_driver_allows_it) {
  EXPECT_TRUE(counters_for_everybody("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n"));
  EXPECT_FALSE(counters_for_everybody("RmProfilingAdminOnly: 1\n"));
  EXPECT_FALSE(counters_for_everybody("EnableMSI: 0\n"));
  EXPECT_FALSE(counters_for_everybody("NotRmProfilingAdminOnly: 0\n"));
  EXPECT_FALSE(counters_for_everybody(""));
}

TEST(Capabilities, are_read_from_the_effective_set) {
  EXPECT_EQ(effective_capabilities("Name:\tx\nCapPrm:\t0000000000000001\n"
                                   "CapEff:\t000001ffffffffff\nCapBnd:\t0000000000000002\n"),
            0x1ffffffffffU);
  EXPECT_EQ(effective_capabilities("Name:\tx\n"), 0U);
}

class ToolProbe : public testing::Test {
 protected:
  ToolTrial trial(Duration limit = 20s) { return {.folder = fakes_.path(), .time_limit = limit}; }

  Component compiler(std::string name) {
    Component found{.name = std::move(name)};
    fixture_.run(probe_compiler(fixture_.processes, trial(), found));
    return found;
  }
  Tools torch(std::string_view python_script, Duration limit = 20s) {
    Tools tools;
    std::string python = fakes_.add("python", python_script);
    fixture_.run(probe_torch(fixture_.processes, python, trial(limit), tools));
    return tools;
  }
  FakeTools fakes_;
  ToolFixture fixture_;
};

// Writes its text to the file after -o, as a compiler does.
constexpr const char* kMakesLibrary =
    "if [ \"$1\" = --version ]; then echo 'fake++ (Fake 9.9) 1.2.3'; exit 0; fi\n"
    "while [ \"$1\" != -o ]; do shift; done; cat > \"$2\"\n";

TEST_F(ToolProbe, a_compiler_works_when_it_has_made_a_library) {
  Component found = compiler(fakes_.add("fake++", kMakesLibrary));
  EXPECT_TRUE(found.found);
  EXPECT_TRUE(found.works) << found.problem;
  EXPECT_EQ(found.version, "1.2.3");
}

TEST_F(ToolProbe, a_compiler_that_claims_success_and_makes_nothing_does_not_work) {
  Component found = compiler(fakes_.add("fake++", "echo 'fake++ 1.2.3'"));
  EXPECT_TRUE(found.found);
  EXPECT_FALSE(found.works);
  EXPECT_EQ(found.problem, "says that it compiled, but made no shared library");
}

TEST_F(ToolProbe, a_compiler_without_its_headers_says_why) {
  Component found =
      compiler(fakes_.add("fake++",
                          "[ \"$1\" = --version ] && { echo 'clang version 14.0.6'; exit 0; }\n"
                          "echo \"fatal error: 'cmath' file not found\" >&2; exit 1"));
  EXPECT_FALSE(found.works);
  EXPECT_EQ(found.version, "14.0.6");
  EXPECT_EQ(found.problem, "does not compile: fatal error: 'cmath' file not found (exit code 1)");
}

TEST_F(ToolProbe, a_compiler_that_is_nowhere_is_not_found) {
  EXPECT_EQ(compiler("no-such-compiler++").problem, "not on PATH");
  EXPECT_EQ(compiler("/nowhere/g++").problem, "not an executable file");
  EXPECT_FALSE(compiler("no-such-compiler++").found);
}

TEST_F(ToolProbe, the_version_of_torch_and_whether_it_sees_a_gpu_are_found) {
  Tools tools = torch(
      "echo noise; echo '{\"version\": \"2.11.0\", \"cuda\": \"13.0\", "
      "\"sees_gpu\": true}'");
  EXPECT_TRUE(tools.torch.works) << tools.torch.problem;
  EXPECT_EQ(tools.torch.version, "2.11.0");
  EXPECT_EQ(tools.torch_cuda, "13.0");
  EXPECT_TRUE(tools.torch_sees_gpu);
}

TEST_F(ToolProbe, an_absent_and_a_broken_torch_are_distinguished) {
  Tools absent = torch("echo '{\"missing\": true, \"problem\": \"No module named torch\"}'");
  EXPECT_FALSE(absent.torch.found);
  EXPECT_EQ(absent.torch.problem, "not installed");
  Tools broken = torch("echo '{\"problem\": \"ImportError: libcudart.so.13: no\"}'");
  EXPECT_TRUE(broken.torch.found);
  EXPECT_FALSE(broken.torch.works);
  EXPECT_EQ(broken.torch.problem, "ImportError: libcudart.so.13: no");
}

TEST_F(ToolProbe, an_import_that_kills_the_interpreter_is_a_problem) {
  EXPECT_EQ(torch("kill -ABRT $$").torch.problem.substr(0, 8), "signal 6");
  EXPECT_EQ(torch("echo 'not json'").torch.problem, "gives no version");
}

TEST_F(ToolProbe, the_import_script_is_python_and_reports_a_missing_module) {
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3 here";
  Component module{.name = "no_such_module_of_specgen"};
  fixture_.run(probe_triton(fixture_.processes, "python3", trial(), module));
  EXPECT_EQ(module.problem, "not installed");
  Component json{.name = "json"};
  fixture_.run(probe_triton(fixture_.processes, "python3", trial(), json));
  EXPECT_TRUE(json.works) << json.problem;
  EXPECT_EQ(json.version.substr(0, 2), "2.");
}

TEST_F(ToolProbe, a_cuda_tool_is_asked_for_its_version) {
  Component ncu{.name = fakes_.add("ncu", "echo 'Version 2025.3.1.0 (build 1)'")};
  fixture_.run(probe_cuda_tool(fixture_.processes, trial(), ncu));
  EXPECT_TRUE(ncu.works);
  EXPECT_EQ(ncu.version, "2025.3.1.0");
}

TEST_F(ToolProbe, a_python_that_answers_nothing_does_not_work) {
  Component python{
      .name = fakes_.add("python", "echo 'pyenv: python: command not found' >&2; exit 127")};
  fixture_.run(probe_python(fixture_.processes, trial(), python));
  EXPECT_TRUE(python.found);
  EXPECT_FALSE(python.works);
  EXPECT_EQ(python.problem, "pyenv: python: command not found (exit code 127)");
}

}  // namespace
}  // namespace specgen
