#include "cli/run_folder.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

SearchOptions started() {
  SearchOptions options;
  options.tasks = {"/tasks/softmax"};
  options.model = "author:fast";
  options.workflow = "cudaforge";
  options.kv = "1GiB";
  options.kv_listen = "unix:/run/kv";
  options.seed = 7;
  options.shapes = {{"n", 4}};
  options.tune = false;
  options.iterations = 3;
  options.time_budget = std::chrono::minutes(5);
  options.token_budget = 0;
  options.cost_budget = 1.5;
  return options;
}

// As the command line gives them: the flags that are on it, the defaults for all others.
SearchOptions resuming(std::set<std::string> flags) {
  SearchOptions options;
  options.resume = "run";
  options.given = std::move(flags);
  return options;
}

TEST(RunFolder, runs_that_start_in_the_same_second_get_folders_of_their_own) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  WallTime now{.ms_since_1970 = 1'763'212'502'000};
  fs::path first = make_run_folder(started(), folder.path() / "runs", now).value();
  fs::path second = make_run_folder(started(), folder.path() / "runs", now).value();
  EXPECT_EQ(first.filename(), "2025-11-15-131502-softmax");
  EXPECT_EQ(second.filename(), "2025-11-15-131502-softmax-2");
  EXPECT_TRUE(fs::is_directory(first));
  EXPECT_TRUE(fs::is_directory(second));
}

TEST(RunFolder, out_is_not_used_for_a_second_run) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  SearchOptions options = started();
  options.out = (folder.path() / "mine").string();
  EXPECT_EQ(make_run_folder(options, "runs", {}).value(), options.out);
  ASSERT_TRUE(write_file_durably(fs::path(options.out) / "journal.db", ""));
  auto again = make_run_folder(options, "runs", {});
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().text().contains("--resume")) << again.error().text();
}

TEST(RunFolder, a_manifest_has_all_that_resume_needs) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  std::vector<RunTask> tasks{{"softmax", "/tasks/softmax", "cpu"}};
  Json manifest = manifest_of(started(), tasks, {});
  ASSERT_TRUE(write_file_durably(folder.path() / "manifest.json", pretty_json(manifest)));
  StartedRun run = read_manifest(folder.path()).value();
  EXPECT_EQ(run.backends, std::vector<std::string>{"cpu"});
  EXPECT_EQ(manifest_of(run.options, tasks, {}), manifest);
}

TEST(RunFolder, resume_keeps_what_the_run_was_started_with) {
  SearchOptions options = resumed_options(started(), resuming({})).value();
  EXPECT_EQ(options.model, "author:fast");
  EXPECT_EQ(options.workflow, "cudaforge");
  EXPECT_EQ(options.kv, "1GiB");
  EXPECT_EQ(options.seed, 7u);
  EXPECT_EQ(options.iterations, 3);
  EXPECT_EQ(options.out, "run");
}

TEST(RunFolder, resume_honours_the_model_the_devices_the_kv_cache_and_the_budgets) {
  SearchOptions given = resuming({"--model", "--devices", "--kv", "--kv-listen", "--max-tokens"});
  given.model = "openai:m@http://h/v1";
  given.devices = "cpu:1-2";
  given.kv = "2GiB";
  given.kv_listen = "127.0.0.1:7";
  given.max_tokens = 512;
  given.iterations = 9;
  given.cost_budget = 2;
  SearchOptions options = resumed_options(started(), given).value();
  EXPECT_EQ(options.model, "openai:m@http://h/v1");
  EXPECT_EQ(options.devices, "cpu:1-2");
  EXPECT_EQ(options.kv, "2GiB");
  EXPECT_EQ(options.kv_listen, "127.0.0.1:7");
  EXPECT_EQ(options.max_tokens, 512);
  EXPECT_EQ(options.iterations, 9);
  EXPECT_EQ(options.cost_budget, 2);
  EXPECT_EQ(options.time_budget, std::chrono::minutes(5));
}

TEST(RunFolder, resume_refuses_flags_that_would_make_it_another_run) {
  auto refusal = [](const SearchOptions& given) {
    auto options = resumed_options(started(), given);
    if (options) {
      ADD_FAILURE() << *given.given.begin() << " was accepted";
      return std::string();
    }
    EXPECT_EQ(options.error().exit_code(), ExitCode::usage);
    EXPECT_TRUE(options.error().advice.contains("without --resume")) << options.error().text();
    return options.error().context;
  };
  SearchOptions given = resuming({"--workflow"});
  given.workflow = "refine";
  EXPECT_EQ(refusal(given), "--workflow: the run in run was started with cudaforge");
  given = resuming({"--seed"});
  given.seed = 8;
  EXPECT_EQ(refusal(given), "--seed: the run in run was started with 7");
  given = resuming({"--no-forks"});
  given.forks = false;
  EXPECT_EQ(refusal(given), "--no-forks: the run in run was started without it");
  given = resuming({"--shape"});
  given.shapes = {{"n", 5}};
  EXPECT_EQ(refusal(given), "--shape: the run in run was started with n=4");
  given = resuming({"--start"});
  given.start = "a.cc";
  EXPECT_EQ(refusal(given), "--start: the run in run was started without it");
  given = resuming({"--out"});
  given.out = "elsewhere";
  EXPECT_TRUE(refusal(given).starts_with("--out"));
}

TEST(RunFolder, resume_accepts_flags_that_change_nothing) {
  SearchOptions given = resuming({"--workflow", "--seed", "--no-tune"});
  given.workflow = "cudaforge";
  given.seed = 7;
  given.tune = false;
  EXPECT_TRUE(resumed_options(started(), given));
}

}  // namespace
}  // namespace specgen
