// The commands that show runs, as a user runs them, on fake runs.

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "runtime/subprocess.h"
#include "support/run_folder.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const std::string kSoftmax = SPECGEN_SOURCE_DIR "/tasks/softmax";

class Runs : public testing::Test {
 protected:
  Finished specgen(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SPECGEN_BINARY);
    RealDriver driver(1);
    Loop loop(driver);
    Processes processes(loop, driver);
    auto finished = loop.run(processes.run({.argv = std::move(arguments),
                                            .folder = folder_.path(),
                                            .output_limit = MiB(4),
                                            .time_limit = 120s}));
    EXPECT_TRUE(finished) << finished.error().text();
    return finished ? std::move(*finished) : Finished{};
  }
  std::string write(const std::string& name, const FakeRun& run) {
    fs::path folder = folder_.path() / name;
    EXPECT_TRUE(write_run_folder(folder, run));
    return folder.string();
  }
  static FakeRun won(std::string source = "int x;\n", double speedup = 1.2) {
    return run_won_by({"softmax", kSoftmax, "cpu"}, std::move(source), speedup);
  }

  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

TEST_F(Runs, a_report_is_a_table_and_a_page) {
  std::string run = write("a", won());
  Finished finished = specgen({"report", run});
  EXPECT_EQ(finished.exit.code, 0) << finished.error_output;
  EXPECT_TRUE(finished.output.contains("1.2x")) << finished.output;
  EXPECT_TRUE(read_file(run + "/report.html").value().starts_with("<!DOCTYPE html>"));
  std::string elsewhere = (folder_.path() / "b.html").string();
  EXPECT_EQ(specgen({"report", run, "--html", elsewhere}).exit.code, 0);
  EXPECT_TRUE(fs::exists(elsewhere));
}

TEST_F(Runs, a_folder_that_is_not_a_run_is_an_error_and_is_not_created) {
  Finished finished = specgen({"report", "nothing-here"});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_TRUE(finished.error_output.contains("E823")) << finished.error_output;
  EXPECT_FALSE(fs::exists(folder_.path() / "nothing-here"));
}

TEST_F(Runs, a_running_run_is_shown_and_never_removed) {
  std::string run = write("runs/a", won());
  RealDriver driver(1);
  Loop loop(driver);
  auto storage = loop.run(SqliteStorage::open(loop, driver, run)).value();
  Finished report = specgen({"report", run});
  EXPECT_EQ(report.exit.code, 0) << report.error_output;
  EXPECT_TRUE(report.output.contains("1.2x")) << report.output;
  EXPECT_TRUE(report.output.contains("still running")) << report.output;
  Finished list = specgen({"runs", "runs"});
  EXPECT_TRUE(list.output.contains("running")) << list.output;
  EXPECT_TRUE(list.output.contains("softmax 1.2x")) << list.output;
  EXPECT_TRUE(loop.run(storage->close()));
}

TEST_F(Runs, a_running_run_without_a_result_is_not_cleaned) {
  FakeRun empty;
  empty.add(run_ended_entry("wall time"));
  std::string run = write("runs/a", empty);
  RealDriver driver(1);
  Loop loop(driver);
  auto storage = loop.run(SqliteStorage::open(loop, driver, run)).value();
  Finished finished = specgen({"runs", "runs", "--clean"});
  EXPECT_TRUE(finished.output.contains("running")) << finished.output;
  EXPECT_TRUE(fs::exists(run));
  EXPECT_TRUE(loop.run(storage->close()));
}

TEST_F(Runs, clean_removes_only_runs_that_ended_without_a_result) {
  FakeRun ended, killed;
  ended.iteration();
  ended.add(run_ended_entry("iterations"));
  killed.iteration();
  FakeRun interrupted;
  interrupted.iteration();
  interrupted.add(run_ended_entry("interrupted"));
  std::string useless = write("runs/a", ended), resumable = write("runs/b", killed),
              good = write("runs/c", won()), stopped = write("runs/d", interrupted);
  Finished finished = specgen({"runs", "runs"});
  for (const char* name : {"runs/b", "runs/d"}) {
    EXPECT_TRUE(
        finished.output.contains(std::string("resumable: specgen optimize --resume ") + name))
        << finished.output;
  }
  EXPECT_TRUE(fs::exists(useless));
  finished = specgen({"runs", "runs", "--clean", "--json"});
  Json document = parse_json(finished.output).value();
  EXPECT_TRUE(flag_at(document.at("runs").at(0), "removed"));
  EXPECT_FALSE(fs::exists(useless));
  EXPECT_TRUE(fs::exists(resumable));
  EXPECT_TRUE(fs::exists(stopped)) << "a run that Ctrl-C stopped can be resumed";
  EXPECT_TRUE(fs::exists(good));
}

TEST_F(Runs, verify_rejects_a_winner_that_is_slower_than_recorded_or_does_not_compile) {
  std::string kernel = read_file(kSoftmax + "/baseline.cc").value();
  Finished finished = specgen({"verify", write("a", won(kernel, 50)), "--json"});
  Json document = parse_json(finished.output).value();
  EXPECT_FALSE(flag_at(document, "confirmed")) << finished.output;
  EXPECT_EQ(finished.exit.code, 1);
  finished = specgen({"verify", write("b", won("this is no kernel\n"))});
  EXPECT_EQ(finished.exit.code, 1);
  EXPECT_TRUE(finished.output.contains("compile_error")) << finished.output;
}

TEST_F(Runs, verify_confirms_a_winner_that_is_as_fast_as_recorded) {
  std::string kernel = read_file(kSoftmax + "/baseline.cc").value();
  // The baseline against itself; the record is modest, because tests share their machine.
  Finished finished = specgen({"verify", write("a", won(kernel, 0.7)), "--json"});
  Json document = parse_json(finished.output).value();
  if (text_at(document, "verdict") == "unstable_timing")
    GTEST_SKIP() << "the machine is too busy to time";
  EXPECT_TRUE(flag_at(document, "confirmed")) << finished.output;
  EXPECT_EQ(finished.exit.code, 0);
}

}  // namespace
}  // namespace specgen
