#include "evaluate/pytorch/python_process.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(FolderOfCompiler, is_what_a_compiler_of_the_users_own_was_installed_with) {
  EXPECT_EQ(folder_of_compiler("/opt/gcc/bin/g++", "/u/me"), "/opt/gcc");
  EXPECT_EQ(folder_of_compiler("/opt/gcc/bin/g++ -m64", "/u/me"), "/opt/gcc");
  EXPECT_EQ(folder_of_compiler("/u/me/gcc/bin/g++", "/u/me"), "/u/me/gcc");
  EXPECT_EQ(folder_of_compiler("/opt/tools/g++", "/u/me"), "/opt/tools");
}

TEST(FolderOfCompiler, is_none_where_every_box_has_it) {
  for (const char* compiler : {"", "g++", "clang++ -O2", "/usr/bin/g++", "/usr/local/bin/g++"}) {
    EXPECT_EQ(folder_of_compiler(compiler, "/u/me"), std::nullopt) << compiler;
  }
}

TEST(FolderOfCompiler, is_never_a_whole_home_or_all_there_is) {
  EXPECT_EQ(folder_of_compiler("/u/me/bin/g++", "/u/me"), "/u/me/bin");
  EXPECT_EQ(folder_of_compiler("/u/bin/g++", "/u/me"), "/u/bin");
  EXPECT_EQ(folder_of_compiler("/u/me/g++", "/u/me"), std::nullopt);
  EXPECT_EQ(folder_of_compiler("/bin/g++", "/u/me"), "/bin");
  EXPECT_EQ(folder_of_compiler("/g++", "/u/me"), std::nullopt);
}

}  // namespace
}  // namespace specgen
