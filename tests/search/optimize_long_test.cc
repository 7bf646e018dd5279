// `specgen optimize` under kill -9, and with speculation against without.

#include "base/random.h"
#include "support/optimize_fixture.h"

namespace specgen {
namespace {

// At moments that fall anywhere: while it starts, thinks, judges, writes down, ends.
TEST_F(OptimizeTest, survives_kills_at_random_moments) {
  Random random(20261115);
  std::vector<std::string> arguments{kTasks + "hinge_loss", "--iterations", "2", "--out", "run"};
  int kills = 0, finished = 0;
  while (kills < 20 && finished < 8) {
    Process process = fixture_.fixture.processes.spawn(command_of(arguments)).value();
    auto after = std::chrono::milliseconds(20 + random.below(6000));
    auto outcome = fixture_.fixture.run(wait_for_exit(fixture_.fixture.loop, process, after));
    if (!outcome) {
      ::kill(process.pid(), SIGKILL);
      fixture_.fixture.run(process.wait());
      ++kills;
    } else {
      ++finished;
    }
    bool has_begun = std::filesystem::exists(path("run/manifest.json"));
    if (has_begun) arguments = {"--resume", "run"};
    if (!outcome) continue;
    // It had come to its end: more of it.
    arguments = {"--resume", "run", "--iterations", std::to_string(4 + 2 * finished)};
  }
  EXPECT_GE(kills, 20);
  Finished last = optimize({"--resume", "run", "--json"});
  Json json = json_of(last);
  EXPECT_EQ(text_at(json, "state"), "ended") << last.error_output;
  Finished report = fixture_.run({SPECGEN_BINARY, "report", "run", "--json"});
  EXPECT_EQ(report.exit.code, 0) << report.error_output;
  if (!json.at("tasks").at(0).at("best").is_null()) {
    // The best file is the best kernel of the journal.
    Json reported = parse_json(report.output).value();
    EXPECT_EQ(text_at(reported.at("tasks").at(0).at("best"), "candidate"),
              text_at(json.at("tasks").at(0).at("best"), "candidate"));
    EXPECT_TRUE(std::filesystem::exists(path(text_at(json.at("tasks").at(0).at("best"), "file"))));
  }
}

// The same seed and pace: reasoning is what takes time, and speculation saves of it.
TEST_F(OptimizeTest, is_faster_and_learns_more_with_speculation_than_without) {
  std::vector<std::string> arguments{kTasks + "softmax",
                                     "--model",
                                     "author:600,tokens=12000",
                                     "--iterations",
                                     "5",
                                     "--seed",
                                     "3",
                                     "--json"};
  auto with = arguments, without = arguments;
  with.insert(with.end(), {"--out", "with"});
  without.insert(without.end(), {"--out", "without", "--no-speculate"});
  Json fast = json_of(optimize(with)), slow = json_of(optimize(without));
  EXPECT_LT(number_at(fast, "wall_s"), number_at(slow, "wall_s"));
  EXPECT_GT(int_at(fast.at("tasks").at(0), "profiled"), int_at(slow.at("tasks").at(0), "profiled"));
}

}  // namespace
}  // namespace specgen
