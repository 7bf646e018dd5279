// `specgen compare` on real devices: finished runs are not repeated, and invalid options are reported.

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "support/program_fixture.h"

namespace specgen {
namespace {

class Comparing : public testing::Test {
 protected:
  Finished compare(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {SPECGEN_BINARY, "compare"});
    Command command = fixture_.command(std::move(arguments));
    command.time_limit = std::chrono::minutes(5);
    return fixture_.fixture.run(fixture_.fixture.processes.run(std::move(command))).value();
  }

  ProgramFixture fixture_{SPECGEN_TEST_CACHE};
};

// Kernels of an author that always makes mistakes are evaluated quickly on any machine.
TEST_F(Comparing, runs_every_system_and_reuses_finished_runs) {
  std::vector<std::string> arguments{
      "--tasks",      "hinge_loss", "--systems", "alphaevolve,specgen",       "--seeds", "1",
      "--iterations", "1",          "--pace",    "120,tokens=400,mistakes=1", "--out",   "compared",
      "--json"};
  Finished first = compare(arguments);
  ASSERT_EQ(first.exit.code, 0) << first.error_output;
  Json json = parse_json(first.output).value();
  const auto& rows = json.at("scenarios").at(0).at("rows").as_array();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(text_at(rows[0], "system"), "alphaevolve");
  EXPECT_EQ(text_at(rows[1], "system"), "specgen");
  auto run = fixture_.folder.path() / "compared/real/specgen-1/journal.db";
  auto written = std::filesystem::last_write_time(run);
  Finished again = compare(arguments);
  EXPECT_EQ(again.output, first.output);
  EXPECT_EQ(std::filesystem::last_write_time(run), written);

  auto identity = fixture_.folder.path() / "compared/real/comparison.txt";
  std::string content = read_file(identity).value();
  fixture_.write("compared/real/comparison.txt", replaced(content, "specgen ", "specgen 0.0.1-"));
  Finished newer = compare(arguments);
  EXPECT_EQ(newer.exit.code, 2) << "runs of two programs are not mixed";
  EXPECT_TRUE(newer.error_output.contains("another specgen")) << newer.error_output;
  EXPECT_TRUE(newer.error_output.contains("--out")) << newer.error_output;
  EXPECT_TRUE(newer.error_output.contains("delete")) << newer.error_output;
  EXPECT_EQ(std::filesystem::last_write_time(run), written);
  fixture_.write("compared/real/comparison.txt", content);

  arguments[3] = "alphaevolve";
  arguments[7] = "2";
  Finished other = compare(arguments);
  EXPECT_EQ(other.exit.code, 2);
  EXPECT_TRUE(other.error_output.contains("--out")) << other.error_output;
  EXPECT_FALSE(other.error_output.contains("is not checked")) << other.error_output;
  arguments[3] = "specgen";
  other = compare(arguments);
  EXPECT_EQ(other.exit.code, 2);
  EXPECT_TRUE(other.error_output.contains("is not checked")) << "the pace, without a baseline";
}

TEST_F(Comparing, prints_the_table_even_if_the_page_cannot_be_written) {
  constexpr std::size_t kTooLong = 250;  // for the temporary file's name beside it
  Finished finished =
      compare({"--virtual", "--scenario", "paper-glm", "--systems", "cudaforge", "--seeds", "1",
               "--iterations", "1", "--html", std::string(kTooLong, 'x')});
  EXPECT_NE(finished.exit.code, 0);
  EXPECT_TRUE(finished.output.contains("cudaforge")) << finished.error_output;
}

TEST_F(Comparing, refuses_a_pace_at_which_evaluation_dominates) {
  Finished finished = compare({"--tasks", "hinge_loss", "--systems", "alphaevolve", "--seeds", "1",
                               "--iterations", "1", "--pace", "instant", "--out", "fast"});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_TRUE(finished.error_output.contains("slower --pace")) << finished.error_output;
}

TEST_F(Comparing, names_unknown_values) {
  struct Mistake {
    std::vector<std::string> arguments;
    std::string expected;
  };
  for (const Mistake& mistake : std::vector<Mistake>{
           {{"--systems", "specgem"}, "specgen"},
           {{"--tasks", "softmaks"}, "softmax"},
           {{"--pace", "slow"}, "pace"},
           {{"--scenario", "paper-glm"}, "--virtual"},
           {{"--virtual", "--scenario", "paper-glmm"}, "paper-glm"},
           {{"--virtual", "--tasks", "softmax"}, "--tasks"},
           {{"--virtual", "--html", "nowhere/page.html"}, "--html"},
       }) {
    Finished finished = compare(mistake.arguments);
    EXPECT_EQ(finished.exit.code, 2) << mistake.expected;
    EXPECT_TRUE(finished.error_output.contains(mistake.expected)) << finished.error_output;
  }
}

}  // namespace
}  // namespace specgen
