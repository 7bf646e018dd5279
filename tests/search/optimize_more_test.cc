// `specgen optimize` with tunables, recordings, cost budgets, and servers that misbehave.

#include "kvcache/kv_test_client.h"
#include "report/run_data.h"
#include "runtime/testing.h"
#include "support/optimize_fixture.h"
#include "support/scripted_server.h"

namespace specgen {
namespace {

class OptimizeMoreTest : public OptimizeTest {
 protected:
  Process start(std::vector<std::string> arguments) {
    return fixture_.fixture.processes.spawn(command_of(std::move(arguments))).value();
  }
  // The author behind HTTP. Its URL ends in /v1.
  Process author_at(std::string pace, std::string& url) {
    Process author = fixture_.fixture.processes
                         .spawn(fixture_.command({SPECGEN_BINARY, "author", "--listen",
                                                  "127.0.0.1:0", "--pace", std::move(pace)}))
                         .value();
    std::string output = fixture_.fixture.run(read_until(*author.output, "/v1\n"));
    std::size_t at = output.find("http://");
    SG_ASSERT(at != std::string::npos, "the author says where it listens");
    url = output.substr(at, output.find('\n', at) - at);
    return author;
  }
  RunData data_of(const std::string& run) { return read_run(path(run)).value(); }
  std::vector<std::string> sources_of(const RunData& run) {
    std::vector<std::string> sources;
    for (const auto& [id, candidate] : run.state.candidates) {
      sources.push_back(run.source_of(candidate));
    }
    return sources;
  }
};

TEST_F(OptimizeMoreTest, the_tunables_that_win_are_part_of_the_result) {
  SmallTask task, slow;
  slow.baseline = task.slowed("40000");
  fixture_.write("small", slow);
  // As it is written it wastes even more time than the baseline. The author has no plan for this task.
  fixture_.write("start.cc",
                 "// specgen:tune UNROLL = 1, 4\n" + task.slowed("UNROLL == 1 ? 160000 : 1"));
  Finished finished = optimize({"small", "--model", "author:instant", "--start", "start.cc",
                                "--iterations", "1", "--out", "run", "--json"});
  ASSERT_EQ(finished.exit.code, 0) << finished.error_output;
  Json json = json_of(finished);
  const Json& best = json.at("tasks").at(0).at("best");
  EXPECT_EQ(best.at("tunables"), (Json{{"UNROLL", 4}})) << finished.error_output;
  EXPECT_TRUE(flag_at(best, "tuned"));
  EXPECT_TRUE(finished.error_output.contains("c1 tuned: UNROLL = 4")) << finished.error_output;
  std::string file = read_file(path(text_at(best, "file"))).value();
  EXPECT_TRUE(file.starts_with("// specgen:tune UNROLL = 4, 1\n")) << file;
  EXPECT_TRUE(read_file(path("run/report.html")).value().contains("\"tuned\""));

  RunData run = data_of("run");
  Winner winner = winner_of(run, "").value();
  EXPECT_EQ(winner.source, file);
  EXPECT_GT(winner.speedup.median, run.state.candidates.at(winner.id).judged->speedup.median);
  EXPECT_EQ(run.state.tasks[0].best_speedup, winner.speedup.median);
}

// By a writer who is never right, and who repairs every other kernel that is shown its failure.
TEST_F(OptimizeMoreTest, failed_kernels_are_repaired_while_the_reasoning_continues) {
  Finished finished = optimize({kTasks + "hinge_loss", "--model", "author:fast,mistakes=1",
                                "--iterations", "4", "--out", "run"});
  ASSERT_EQ(finished.exit.code, 0) << finished.error_output;
  RunData run = data_of("run");
  int right = 0;
  for (const auto& [id, candidate] : run.state.candidates) {
    if (candidate.found.trigger != "repair") continue;
    const CandidateState& failed = run.state.candidates.at(candidate.found.parent);
    EXPECT_NE(failed.judged.value().verdict, Verdict::ok) << to_string(id);
    right += candidate.judged && candidate.judged->verdict == Verdict::ok;
  }
  EXPECT_GT(right, 0);
}

TEST_F(OptimizeMoreTest, a_recorded_run_can_be_replayed) {
  std::vector<std::string> arguments{kTasks + "hinge_loss", "--iterations", "1",     "--no-forks",
                                     "--criterion",         "never",        "--json"};
  auto recorded = arguments, played = arguments;
  recorded.insert(recorded.end(),
                  {"--model", "author:instant", "--record", "talk.cassette", "--out", "first"});
  played.insert(played.end(), {"--model", "cassette:talk.cassette", "--out", "second"});
  Finished first = optimize(recorded);
  ASSERT_LE(first.exit.code, 1) << first.error_output;  // how fast they are is not the question
  Finished second = optimize(played);
  ASSERT_LE(second.exit.code, 1) << second.error_output;
  auto sources = sources_of(data_of("first"));
  EXPECT_FALSE(sources.empty());
  EXPECT_EQ(sources, sources_of(data_of("second")));
}

TEST_F(OptimizeMoreTest, a_shadow_measures_what_an_early_stop_saved) {
  Finished finished =
      optimize({kTasks + "hinge_loss", "--model", "author:100", "--iterations", "1", "--shadow",
                "1", "--criterion", "target=0.01", "--out", "run", "--json"});
  ASSERT_EQ(finished.exit.code, 0) << finished.error_output;
  Json report =
      parse_json(fixture_.run({SPECGEN_BINARY, "report", "run", "--json"}).output).value();
  const Json& ledger = report.at("ledger");
  ASSERT_EQ(int_at(report.at("tasks").at(0), "early_stops"), 1) << finished.error_output;
  EXPECT_EQ(int_at(ledger.at("shadows"), "count"), 1);
  EXPECT_GT(int_at(ledger.at("shadows"), "tokens"), 0);
  EXPECT_GT(number_at(ledger.at("shadows"), "seconds"), 0);
  EXPECT_EQ(int_at(ledger.at("saved"), "tokens"), int_at(ledger.at("shadows"), "tokens"));
}

TEST_F(OptimizeMoreTest, a_second_interrupt_ends_it_at_once_and_it_can_be_resumed) {
  Process process =
      start({kTasks + "hinge_loss", "--model", "author:20", "--iterations", "1", "--out", "run"});
  std::string output =
      fixture_.fixture.run(read_until(*process.error_output, "iteration 1 begins"));
  ASSERT_TRUE(output.contains("iteration 1 begins")) << output;
  // Both are pending when it continues.
  ::kill(process.pid(), SIGSTOP);
  ::kill(process.pid(), SIGINT);
  ::kill(process.pid(), SIGTERM);
  ::kill(process.pid(), SIGCONT);
  output = fixture_.fixture.run(read_until(*process.error_output, "the run ends"));
  EXPECT_FALSE(output.contains("the run ends")) << output;
  EXPECT_EQ(fixture_.fixture.run(process.wait()).signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(path("run/report.html")));

  // A short budget: the author is slow.
  Finished resumed = optimize({"--resume", "run", "--time-budget", "1s", "--json"});
  EXPECT_EQ(text_at(json_of(resumed), "why"), "wall time") << resumed.error_output;
  EXPECT_EQ(data_of("run").state.resumptions, 1u);
}

TEST_F(OptimizeMoreTest, no_more_money_is_spent_than_the_cost_budget) {
  std::string url;
  Process author = author_at("instant", url);
  fixture_.write("specgen.toml", "[models.paid]\nurl = \"" + url +
                                     "\"\nmodel = \"author\"\nprofile = \"llamacpp\"\n"
                                     "prices = {prompt = 1000, completion = 1000}\n");
  Finished finished =
      optimize({kTasks + "hinge_loss", "--model", "paid", "--no-forks", "--max-tokens", "8192",
                "--iterations", "50", "--cost-budget", "30", "--out", "run", "--json"});
  EXPECT_EQ(finished.exit.code, 0) << finished.error_output;
  Json json = json_of(finished);
  EXPECT_EQ(text_at(json, "why"), "budget");
  EXPECT_GT(number_at(json, "dollars"), 0);
  EXPECT_LE(number_at(json, "dollars"), 30);
  EXPECT_GE(int_at(json.at("tasks").at(0), "iterations"), 1);
  EXPECT_LT(int_at(json.at("tasks").at(0), "iterations"), 50);
}

TEST_F(OptimizeMoreTest, a_server_that_dies_halfway_costs_nothing_that_was_judged) {
  std::string url;
  Process author = author_at("400", url);
  Process process = start({kTasks + "hinge_loss", "--model", "openai:author@" + url, "--no-forks",
                           "--iterations", "9", "--time-budget", "25s", "--out", "run"});
  std::string output =
      fixture_.fixture.run(read_until(*process.error_output, "iteration 2 begins"));
  ASSERT_TRUE(output.contains("iteration 2 begins")) << output;
  ::kill(author.pid(), SIGKILL);
  output += fixture_.fixture.run(read_until(*process.error_output, "the run ends"));
  EXPECT_TRUE(output.contains("the model failed")) << output;
  EXPECT_EQ(fixture_.fixture.run(process.wait()).code, 0);
  RunData run = data_of("run");
  EXPECT_EQ(run.state.ended, "wall time");
  EXPECT_GT(run.state.tasks[0].best_speedup, 0);
  EXPECT_TRUE(read_file(path("run/report.html")).value().contains("wall time"));
}

TEST_F(OptimizeMoreTest, a_model_that_never_stops_writing_is_cut_off) {
  ScriptedServer server(fixture_.fixture.loop, fixture_.fixture.driver);
  Scene scene{.path = "/v1/chat/completions", .steps = {send(sse_head())}};
  std::string arguments, megabyte;
  while (arguments.size() < 4096) arguments += "and then there is one more thing to say. ";
  while (megabyte.size() < (1 << 20)) megabyte += content_event(arguments);
  for (int i = 0; i < 50; ++i) scene.steps.push_back(send(megabyte));
  scene.steps.push_back(wait_for_client());
  server.expect(std::move(scene));
  TaskGroup serving(fixture_.fixture.loop);
  serving.spawn(server.serve());
  Finished finished = optimize({kTasks + "hinge_loss", "--model", "openai:x@" + server.url(),
                                "--no-forks", "--iterations", "1", "--out", "run", "--json"});
  EXPECT_EQ(finished.exit.code, 1) << finished.error_output;
  Json json = json_of(finished);
  EXPECT_TRUE(finished.error_output.contains("stream exceeded 16 MiB")) << finished.error_output;
  EXPECT_EQ(text_at(json, "why"), "iterations");
  EXPECT_TRUE(std::filesystem::exists(path("run/report.html")));
  EXPECT_GT(int_at(json.at("tokens"), "main"), 1'000'000);  // what came was paid for
  EXPECT_EQ(server.closed_by_client(), 1);
}

class EveryWorkflow : public OptimizeMoreTest, public testing::WithParamInterface<const char*> {};

TEST_P(EveryWorkflow, makes_kernels_on_the_real_judge) {
  Finished finished = optimize({kTasks + "hinge_loss", "--model", "author:instant", "--workflow",
                                GetParam(), "--iterations", "2", "--out", "run", "--json"});
  ASSERT_EQ(finished.exit.code, 0) << finished.error_output;
  const Json json = json_of(finished);
  const Json& task = json.at("tasks").at(0);
  EXPECT_EQ(int_at(task, "iterations"), 2);
  EXPECT_GT(int_at(task, "profiled"), 0);
  EXPECT_EQ(text_at(json, "why"), "iterations");
}

INSTANTIATE_TEST_SUITE_P(Workflows, EveryWorkflow,
                         testing::Values("cudaforge", "alphaevolve", "kernelagent"),
                         [](const auto& workflow) { return std::string(workflow.param); });

TEST_F(OptimizeMoreTest, serves_a_kv_cache_while_it_runs) {
  const std::string socket = path("kv.sock");
  Process process = start({kTasks + "hinge_loss", "--model", "author:instant", "--iterations", "1",
                           "--kv", "128MiB", "--kv-listen", "unix:" + socket});
  for (int i = 0; i < 3000 && !std::filesystem::exists(socket); ++i) {
    fixture_.fixture.run(nap(fixture_.fixture.loop, std::chrono::milliseconds(10)));
  }
  ASSERT_TRUE(std::filesystem::exists(socket));
  kv_testing::NativeClient engine = kv_testing::NativeClient::to_path(socket);
  EXPECT_TRUE(engine.set("prefix", std::string(5000, 'x')));
  EXPECT_EQ(engine.get("prefix", 5000), std::string(5000, 'x'));
  auto exit =
      fixture_.fixture.run(wait_for_exit(fixture_.fixture.loop, process, std::chrono::minutes(2)));
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->ok());
}

}  // namespace
}  // namespace specgen
