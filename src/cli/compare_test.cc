#include "cli/compare.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"

namespace specgen {
namespace {

Error refusal_of(const CompareSystems& command) {
  auto compared = compare_systems(command);
  if (!compared) return compared.error();
  ADD_FAILURE() << "this was done";
  return {};
}

CompareSystems in_virtual_time() {
  CompareSystems command;
  command.is_virtual = true;
  command.systems = "cudaforge";
  command.seeds = 1;
  command.iterations = 1;
  return command;
}

TEST(Compare, in_virtual_time_refuses_words_that_mean_something_for_real_only) {
  CompareSystems tasks = in_virtual_time(), pace = tasks, devices = tasks, over_http = tasks;
  tasks.tasks = "softmax";
  pace.pace = "600";
  devices.devices = "auto";
  over_http.over_http = true;
  for (const auto& [command, word] :
       {std::pair{&tasks, "--tasks"}, std::pair{&pace, "--pace"}, std::pair{&devices, "--devices"},
        std::pair{&over_http, "--over-http"}}) {
    Error error = refusal_of(*command);
    EXPECT_EQ(error.code, ErrorCode::bad_usage);
    EXPECT_TRUE(error.context.starts_with(word)) << error.text();
    EXPECT_TRUE(error.advice.contains("--virtual")) << error.text();
  }
}

TEST(Compare, for_real_needs_no_scenario) {
  CompareSystems command;
  command.scenarios = {"paper-glm"};
  Error error = refusal_of(command);
  EXPECT_EQ(error.code, ErrorCode::bad_usage);
  EXPECT_TRUE(error.context.starts_with("--scenario")) << error.text();
}

TEST(Compare, refuses_a_page_that_cannot_be_written_before_anything_is_done) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  CompareSystems command = in_virtual_time();
  command.html = (folder.path() / "not-there" / "page.html").string();
  Error error = refusal_of(command);
  EXPECT_EQ(error.code, ErrorCode::bad_usage);
  EXPECT_TRUE(error.advice.contains("not-there, or name a file")) << error.text();
  command.html = folder.path().string();
  EXPECT_EQ(refusal_of(command).code, ErrorCode::bad_usage) << "a folder";
}

}  // namespace
}  // namespace specgen
