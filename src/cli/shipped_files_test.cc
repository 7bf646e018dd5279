#include "cli/shipped_files.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

// The unit tests run from the build folder of a source tree, where the tasks that ship are.
TEST(ShippedFiles, a_task_that_ships_is_found_by_its_name_from_anywhere) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  fs::path before = fs::current_path();
  fs::current_path(folder.path());
  std::string softmax = (shipped_folder("tasks") / "softmax").string();
  EXPECT_EQ(find_task("softmax").value(), softmax);
  EXPECT_EQ(find_task("tasks/softmax").value(), softmax) << "as the README writes it";
  EXPECT_EQ(find_task("tasks/softmax/").value(), softmax);
  EXPECT_EQ(find_task("softmax:f16").value(), softmax + ":f16");
  fs::current_path(before);
}

TEST(ShippedFiles, a_task_of_the_users_own_comes_first) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  fs::path before = fs::current_path();
  fs::current_path(folder.path());
  fs::create_directories("softmax");
  EXPECT_NE(find_task("softmax").value(), "softmax") << "a folder without a task.toml is no task";
  ASSERT_TRUE(write_file_durably("softmax/task.toml", ""));
  EXPECT_EQ(find_task("softmax").value(), "softmax");
  EXPECT_EQ(find_task("softmax:f16").value(), "softmax:f16");
  ASSERT_TRUE(write_file_durably("relu.py", ""));
  EXPECT_EQ(find_task("relu.py").value(), "relu.py");
  fs::current_path(before);
}

TEST(ShippedFiles, an_unknown_task_is_answered_with_the_nearest) {
  auto task = find_task("softmux");
  ASSERT_FALSE(task);
  EXPECT_EQ(task.error().code, ErrorCode::unknown_name);
  EXPECT_EQ(task.error().context, "there is no task 'softmux'; did you mean 'softmax'?");
  EXPECT_FALSE(find_task("no/such/task"));
}

}  // namespace
}  // namespace specgen
