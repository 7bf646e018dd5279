// `specgen optimize` makes kernels faster, refuses what cannot be meant, and ends in good order.

#include "support/optimising.h"

namespace specgen {
namespace {

TEST_F(Optimising, makes_a_kernel_faster_and_tells_how) {
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

TEST_F(Optimising, what_cannot_be_meant_is_said_before_anything_begins) {
  struct Mistake {
    std::vector<std::string> words;
    std::string said;
    int code = 2;
  };
  std::string softmax = kTasks + "softmax";
  for (const Mistake& mistake : std::vector<Mistake>{
           {{}, "what is to be made faster"},
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
           {{softmax, "--model", "athor"}, "author"},
           {{softmax, "--start", "no-such-kernel.cc"}, "no-such-kernel.cc"},
           {{"--resume", "nowhere"}, "nowhere"},
           {{softmax, "--resume", "nowhere"}, "has its tasks"},
       }) {
    Finished finished = optimize(mistake.words);
    EXPECT_EQ(finished.exit.code, mistake.code)
        << join(mistake.words, " ") << finished.error_output;
    EXPECT_TRUE(finished.error_output.contains(mistake.said)) << join(mistake.words, " ") << ":\n"
                                                              << finished.error_output;
    EXPECT_FALSE(std::filesystem::exists(path("specgen-runs"))) << join(mistake.words, " ");
  }
}

TEST_F(Optimising, a_server_that_is_not_there_ends_the_run_soon_and_in_good_order) {
  Finished finished = optimize({kTasks + "hinge_loss", "--model", "openai:x@http://127.0.0.1:9/v1",
                                "--no-forks", "--out", "run", "--json"});
  EXPECT_EQ(finished.exit.code, 1) << finished.error_output;
  Json json = json_of(finished);
  EXPECT_TRUE(text_at(json, "why").contains("does not answer")) << text_at(json, "why");
  EXPECT_TRUE(json.at("tasks").at(0).at("best").is_null());
  EXPECT_TRUE(std::filesystem::exists(path("run/report.html")));
}

// Everything that it says on standard error until `word` is among it, or it ends.
Task<std::string> listen_for(Process& process, std::string word) {
  std::string said;
  while (!said.contains(word)) {
    std::array<char, 4096> piece{};
    std::size_t size = (co_await process.error_output->read_some(piece)).value_or(0);
    if (size == 0) break;
    said.append(piece.data(), size);
  }
  co_return said;
}

TEST_F(Optimising, an_interrupt_keeps_what_was_judged_and_resume_goes_on) {
  Process process =
      runtime_.runtime.processes
          .spawn(command_of({kTasks + "hinge_loss", "--iterations", "3", "--out", "run"}))
          .value();
  std::string said = runtime_.runtime.run(listen_for(process, "iteration 1 ends"));
  ASSERT_TRUE(said.contains("iteration 1 ends")) << said;
  ::kill(process.pid(), SIGINT);
  said = runtime_.runtime.run(listen_for(process, "the run ends"));
  EXPECT_TRUE(said.contains("interrupted")) << said;
  EXPECT_EQ(runtime_.runtime.run(process.wait()).signal, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/report.html")));

  Finished resumed = optimize({"--resume", "run", "--json"});
  Json json = json_of(resumed);
  EXPECT_EQ(text_at(json, "why"), "iterations") << resumed.error_output;
  EXPECT_EQ(int_at(json.at("tasks").at(0), "iterations"), 3);
}

TEST_F(Optimising, a_probe_studies_prefixes_and_continues_where_it_was_interrupted) {
  auto probe = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {SPECGEN_BINARY, "probe"});
    Command command = runtime_.command(std::move(words));
    command.time_limit = std::chrono::minutes(4);
    return runtime_.runtime.run(runtime_.runtime.processes.run(std::move(command))).value();
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
