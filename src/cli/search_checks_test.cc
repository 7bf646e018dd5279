#include "cli/search_checks.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

Error error_of(const SearchOptions& options, const Settings& settings = {}) {
  auto checked = check_search(options, settings);
  if (!checked) {
    EXPECT_EQ(checked.error().exit_code(), ExitCode::usage);
    return checked.error();
  }
  ADD_FAILURE() << "the search was accepted";
  return {};
}

SearchOptions for_task(std::string task, std::string model) {
  SearchOptions options;
  options.tasks = {std::move(task)};
  options.model = std::move(model);
  return options;
}

TEST(SearchChecks, a_task_that_the_author_cannot_write_is_refused_with_what_to_use_instead) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  std::string file = (folder.path() / "19_ReLU.py").string();
  ASSERT_TRUE(write_file_durably(file, ""));
  Error error = error_of(for_task(file, "author"));
  EXPECT_EQ(error.context, "the author does not know the task '19_ReLU'");
  EXPECT_TRUE(error.advice.contains("--model openai:NAME@URL")) << error.advice;
  EXPECT_TRUE(error.advice.contains("softmax")) << error.advice;
  EXPECT_TRUE(check_search(for_task(file, "openai:m@http://h/v1"), {}));
  EXPECT_TRUE(check_search(for_task("softmax", "author:fast"), {}));
  SearchOptions with_start = for_task(file, "author");
  with_start.start = "kernel.cc";
  EXPECT_TRUE(check_search(with_start, {})) << "its tunables can be swept";
}

TEST(SearchChecks, the_author_needs_a_plan_for_the_backend) {
  std::vector<RunTask> tasks{{"cumsum", "tasks/cumsum", "cpu"}};
  EXPECT_TRUE(check_author(for_task("cumsum", "author"), tasks));
  tasks[0].backend = "cuda";
  auto checked = check_author(for_task("cumsum", "author"), tasks);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().context, "the author does not know the task 'cumsum' on cuda");
  EXPECT_TRUE(check_author(for_task("cumsum", "openai:m@http://h/v1"), tasks));
}

TEST(SearchChecks, a_cost_budget_needs_a_price) {
  SearchOptions options = for_task("softmax", "openai:m@http://h/v1");
  options.cost_budget = 2;
  Error error = error_of(options);
  EXPECT_EQ(error.context, "--cost-budget: the price of 'openai:m@http://h/v1' is not known");
  EXPECT_TRUE(error.advice.contains("url = \"http://h/v1\", model = \"m\", prices = {"))
      << error.advice;
  Settings settings;
  NamedModel model;
  model.name = options.model = "paid";
  model.url = "http://h/v1";
  settings.models = {model};
  EXPECT_TRUE(error_of(options, settings).advice.contains("[models.paid], prices = {"));
  settings.models[0].prices.completion = 2.2;
  EXPECT_TRUE(check_search(options, settings));
  options.model = "author";
  EXPECT_TRUE(error_of(options).context.contains("costs nothing"));
}

TEST(SearchChecks, a_shape_needs_a_pytorch_task) {
  SearchOptions options = for_task("softmax", "author");
  options.shapes = {{"n", 4}};
  EXPECT_TRUE(error_of(options).context.starts_with("--shape"));
}

}  // namespace
}  // namespace specgen
