// `specgen optimize` makes kernels faster, refuses wrong usage, and ends in good order.

#include "support/optimize_fixture.h"

namespace specgen {
namespace {

TEST_F(OptimizeTest, makes_a_kernel_faster_and_reports_it) {
  Finished finished = optimize(
      {kTasks + "softmax", "--model", "author", "--iterations", "6", "--out", "run", "--json"});
  ASSERT_EQ(finished.exit.code, 0) << finished.error_output;
  Json json = json_of(finished);
  const Json& task = json.at("tasks").at(0);
  EXPECT_EQ(text_at(task, "name"), "softmax");
  EXPECT_GT(number_at(task.at("best").at("speedup"), "median"), 1.2);
  EXPECT_EQ(int_at(task, "iterations"), 6);
  for (const char* count : {"feedback", "profiled", "forks", "harvested"}) {
    EXPECT_GT(int_at(task, count), 0) << count;
  }
  EXPECT_GT(int_at(json.at("tokens"), "main"), 0);
  EXPECT_GT(number_at(json, "utilization"), 0);
  std::string best = read_file(path(text_at(task.at("best"), "file"))).value();
  EXPECT_TRUE(best.contains("softmax"));
  EXPECT_TRUE(read_file(path("run/report.html")).value().contains("softmax"));
  EXPECT_TRUE(parse_json(read_file(path("run/manifest.json")).value()));

  Finished again = optimize({kTasks + "softmax", "--out", "run"});
  EXPECT_EQ(again.exit.code, 2);
  EXPECT_TRUE(again.error_output.contains("--resume")) << again.error_output;
}

TEST_F(OptimizeTest, wrong_usage_is_reported_before_anything_is_written) {
  struct Mistake {
    std::vector<std::string> arguments;
    std::string message;
    int code = 2;
  };
  std::string softmax = kTasks + "softmax";
  for (const Mistake& mistake : std::vector<Mistake>{
           {{}, "no task is named"},
           {{"no/such/task"}, "no/such/task"},
           {{softmax, softmax}, "two tasks"},
           {{softmax, "--workflow", "refin"}, "refine"},
           {{softmax, "--criterion", "beats-meen"}, "beats-mean"},
           {{softmax, "--token-budget", "0"}, "--token-budget"},
           {{softmax, "--time-budget", "0s"}, "--time-budget"},
           {{softmax, "--cost-budget", "-1"}, "--cost-budget"},
           {{softmax, "--iterations", "-3"}, "--iterations"},
           {{softmax, "--iterations", "0"}, "never end"},
           {{softmax, "--pool", "elastik"}, "elastic"},
           {{softmax, "--shadow", "2"}, "--shadow"},
           {{softmax, "--devices", "gpu"}, "gpu"},
           {{softmax, "--devices", "cuda:77"}, "cuda:77", 3},
           {{softmax, "--model", "athor"}, "unknown model: 'athor'"},
           {{softmax, "--start", "no-such-kernel.cc"}, "no-such-kernel.cc"},
           {{"--resume", "nowhere"}, "nowhere"},
           {{softmax, "--resume", "nowhere"}, "has its tasks"},
       }) {
    Finished finished = optimize(mistake.arguments);
    EXPECT_EQ(finished.exit.code, mistake.code)
        << join(mistake.arguments, " ") << finished.error_output;
    EXPECT_TRUE(finished.error_output.contains(mistake.message))
        << join(mistake.arguments, " ") << ":\n"
        << finished.error_output;
    EXPECT_FALSE(std::filesystem::exists(path("specgen-runs"))) << join(mistake.arguments, " ");
  }
}

TEST_F(OptimizeTest, an_unreachable_server_ends_the_run_soon_and_in_good_order) {
  Finished finished = optimize({kTasks + "hinge_loss", "--model", "openai:x@http://127.0.0.1:9/v1",
                                "--no-forks", "--out", "run", "--json"});
  EXPECT_EQ(finished.exit.code, 1) << finished.error_output;
  Json json = json_of(finished);
  EXPECT_TRUE(text_at(json, "why").contains("does not answer")) << text_at(json, "why");
  EXPECT_TRUE(json.at("tasks").at(0).at("best").is_null());
  EXPECT_TRUE(std::filesystem::exists(path("run/report.html")));
}

TEST_F(OptimizeTest, an_interrupt_keeps_judged_kernels_exits_with_130_and_can_be_resumed) {
  Process process =
      fixture_.fixture.processes
          .spawn(command_of({kTasks + "hinge_loss", "--iterations", "3", "--out", "run"}))
          .value();
  std::string output = fixture_.fixture.run(read_until(*process.error_output, "iteration 1 ends"));
  ASSERT_TRUE(output.contains("iteration 1 ends")) << output;
  ::kill(process.pid(), SIGINT);
  output = fixture_.fixture.run(read_until(*process.error_output, "--resume run\n"));
  EXPECT_TRUE(output.contains("interrupted; to continue: specgen optimize --resume run\n"))
      << output;
  EXPECT_EQ(fixture_.fixture.run(process.wait()).code, 130);
  EXPECT_TRUE(std::filesystem::exists(path("run/report.html")));
  Finished runs = fixture_.run({SPECGEN_BINARY, "runs", "."});
  EXPECT_TRUE(runs.output.contains("interrupted")) << runs.output;

  Finished resumed = optimize({"--resume", "run", "--json"});
  Json json = json_of(resumed);
  EXPECT_EQ(text_at(json, "why"), "iterations") << resumed.error_output;
  EXPECT_EQ(int_at(json.at("tasks").at(0), "iterations"), 3);
}

TEST_F(OptimizeTest, a_probe_studies_prefixes_and_can_be_resumed) {
  auto probe = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {SPECGEN_BINARY, "probe"});
    Command command = fixture_.command(std::move(arguments));
    command.time_limit = std::chrono::minutes(4);
    return fixture_.fixture.run(fixture_.fixture.processes.run(std::move(command))).value();
  };
  Finished first = probe({kTasks + "hinge_loss", "--model", "author:instant", "--streams", "1",
                          "--every", "30", "--out", "probe"});
  ASSERT_NE(first.exit.code, 2) << first.error_output;
  EXPECT_TRUE(first.output.contains("1 reasoning streams")) << first.output;
  EXPECT_TRUE(read_file(path("probe/prefixes.svg")).value().contains("<svg"));
  Json json = json_of(probe({"--resume", "probe", "--streams", "2", "--json"}));
  EXPECT_EQ(json.at("streams").as_array().size(), 2U);
  std::int64_t forks = 0;
  for (const Json& bin : json.at("forks").as_array()) forks += int_at(bin, "made");
  EXPECT_GE(forks, 4);
  EXPECT_GT(int_at(json.at("tokens"), "control"), 0);
  EXPECT_EQ(probe({kTasks + "hinge_loss", "--every", "80"}).exit.code, 2);
}

}  // namespace
}  // namespace specgen
