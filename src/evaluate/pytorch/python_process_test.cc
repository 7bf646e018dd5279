#include "evaluate/pytorch/python_process.h"

#include <gtest/gtest.h>

#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

// find_python() with a fake interpreter that runs this shell script.
Error error_of_python(const std::string& script, std::string& path) {
  FakeTools tools;
  ToolFixture fixture;
  path = tools.add("python", script);
  auto python = fixture.run(find_python(fixture.processes, path));
  EXPECT_FALSE(python);
  return python ? Error{} : python.error();
}

TEST(FindPython, without_torch_names_the_interpreter_and_what_to_install) {
  std::string path;
  Error error = error_of_python(
      R"(echo '{"executable": "/opt/venv/bin/python3", "torch": false, "folders": []}')", path);
  EXPECT_EQ(error.code, ErrorCode::tool_missing);
  EXPECT_EQ(error.context, "/opt/venv/bin/python3 has no torch");
  EXPECT_TRUE(error.advice.contains("install torch for that Python")) << error.advice;
}

TEST(FindPython, an_interpreter_that_does_not_start_is_named) {
  std::string path;
  Error error = error_of_python("echo 'no such version' >&2; exit 127", path);
  EXPECT_EQ(error.code, ErrorCode::tool_missing);
  EXPECT_TRUE(error.context.starts_with(path)) << error.context;
  EXPECT_TRUE(error.context.contains("no such version")) << error.context;
}

TEST(FolderOfCompiler, is_the_installation_of_a_compiler_outside_of_usr) {
  EXPECT_EQ(folder_of_compiler("/opt/gcc/bin/g++", "/u/me"), "/opt/gcc");
  EXPECT_EQ(folder_of_compiler("/opt/gcc/bin/g++ -m64", "/u/me"), "/opt/gcc");
  EXPECT_EQ(folder_of_compiler("/u/me/gcc/bin/g++", "/u/me"), "/u/me/gcc");
  EXPECT_EQ(folder_of_compiler("/opt/tools/g++", "/u/me"), "/opt/tools");
}

TEST(FolderOfCompiler, is_empty_for_compilers_that_every_sandbox_has) {
  for (const char* compiler : {"", "g++", "clang++ -O2", "/usr/bin/g++", "/usr/local/bin/g++"}) {
    EXPECT_EQ(folder_of_compiler(compiler, "/u/me"), std::nullopt) << compiler;
  }
}

TEST(FolderOfCompiler, is_never_a_home_folder_or_the_root) {
  EXPECT_EQ(folder_of_compiler("/u/me/bin/g++", "/u/me"), "/u/me/bin");
  EXPECT_EQ(folder_of_compiler("/u/bin/g++", "/u/me"), "/u/bin");
  EXPECT_EQ(folder_of_compiler("/u/me/g++", "/u/me"), std::nullopt);
  EXPECT_EQ(folder_of_compiler("/bin/g++", "/u/me"), "/bin");
  EXPECT_EQ(folder_of_compiler("/g++", "/u/me"), std::nullopt);
}

}  // namespace
}  // namespace specgen
