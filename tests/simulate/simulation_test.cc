// Complete simulations: they are deterministic, every fault occurs and is survived, and every check can fail.

#include <gtest/gtest.h>

#include <map>

#include "runtime/virtual_driver.h"
#include "simulate/simulation.h"
#include "simulate/simulation_checks.h"
#include "simulate/simulation_figures.h"

namespace specgen {
namespace {

constexpr std::string_view kSmall = R"(
[run]
workflows = 3
iterations = 3
[model]
thinking_tokens = 4000
[devices]
hosts = 2
per_host = 1
)";

Simulation open_simulation(std::string toml) {
  std::filesystem::path source = SPECGEN_SOURCE_DIR;
  auto scenario = parse_scenario(toml, "small.toml");
  EXPECT_TRUE(scenario) << scenario.error().text();
  auto simulation = Simulation::open(
      *scenario, {.triggers = {source / "triggers"}, .prompts = {source / "prompts"}});
  EXPECT_TRUE(simulation) << simulation.error().text();
  return std::move(*simulation);
}

SimulationReport live_through(const Simulation& simulation, std::uint64_t seed) {
  auto report = simulation.run(seed);
  EXPECT_TRUE(report) << report.error().text();
  for (const std::string& violation : report->violations) ADD_FAILURE() << violation;
  return std::move(*report);
}

TEST(Simulation, a_seed_determines_all_steps) {
  Simulation simulation = open_simulation(std::string(kSmall));
  SimulationReport one = live_through(simulation, 1), again = live_through(simulation, 1);
  EXPECT_EQ(one.trace_hash, again.trace_hash);
  EXPECT_EQ(one.state.digest(), again.state.digest());
  EXPECT_NE(one.trace_hash, live_through(simulation, 2).trace_hash);
}

TEST(Simulation, an_unknown_trigger_family_is_refused_with_key_and_reason) {
  std::filesystem::path source = SPECGEN_SOURCE_DIR;
  auto opened = [&](const std::string& run) {
    auto scenario = parse_scenario("[run]\n" + run, "small.toml");
    EXPECT_TRUE(scenario) << scenario.error().text();
    return Simulation::open(*scenario,
                            {.triggers = {source / "triggers"}, .prompts = {source / "prompts"}});
  };
  EXPECT_TRUE(opened("triggers = \"any\"\n"));
  EXPECT_TRUE(opened("triggers = \"glm\"\n"));
  for (const char* also : {"", "[speculation]\nforks = false\n"}) {
    auto refused = opened(std::string("triggers = \"unknown\"\n") + also);
    if (refused) {
      ADD_FAILURE() << "an unknown family was accepted " << also;
      continue;
    }
    EXPECT_EQ(refused.error().code, ErrorCode::bad_scenario);
    EXPECT_EQ(refused.error().exit_code(), ExitCode::usage);
    EXPECT_TRUE(refused.error().context.contains("run.triggers")) << refused.error().context;
    EXPECT_TRUE(refused.error().context.contains("unknown")) << refused.error().context;
  }
}

TEST(Simulation, ends_with_feedback) {
  SimulationReport report = live_through(open_simulation(std::string(kSmall)), 3);
  SimulationFigures figures = figures_of(report);
  EXPECT_EQ(report.ended, "iterations");
  EXPECT_EQ(figures.run.iterations, 9);
  EXPECT_GT(figures.run.profiled, 0);
  EXPECT_GT(figures.run.utilization(), 0);
  EXPECT_LT(figures.run.utilization(), 1);
  EXPECT_GT(figures.best_speedup(), 0);
}

TEST(Simulation, tunes_the_best_kernel_despite_kills) {
  Simulation simulation = open_simulation(
      std::string(kSmall) + "[kernels]\ntunable = true\n[faults]\ncontroller_kill = 6\n");
  std::int64_t tuned = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SimulationReport report = live_through(simulation, seed);
    for (const auto& [id, candidate] : report.state.candidates) {
      tuned += candidate.tuned.has_value();
    }
  }
  EXPECT_GT(tuned, 0);
}

TEST(Simulation, restarts_streams_whose_candidates_all_fail) {
  Simulation simulation =
      open_simulation(std::string(kSmall) +
                      "[speculation]\nabandon_after_failures = 1\n"
                      "max_restarts = 2\n[kernels]\nsuccess = 0\nrepair_success = 0\n"
                      "hopeless = 0\n");
  SimulationReport report = live_through(simulation, 1);
  std::map<IterationEnd, int> ends;
  for (const auto& [id, iteration] : report.state.iterations) ++ends[iteration.ended->end];
  EXPECT_GT(ends[IterationEnd::abandoned], 0);
  EXPECT_GE(ends[IterationEnd::restarted], 2 * ends[IterationEnd::abandoned]);
  EXPECT_EQ(figures_of(report).run.iterations, 9) << "a restart is the same iteration";
}

// Of one task: main generations and advice that were under way at the same time.
std::size_t max_reasoning_at_once(const RunState& state) {
  std::multimap<Duration, int> changes;
  for (const auto& [id, call] : state.calls) {
    if (!call.done || call.sent.purpose == "fork") continue;
    changes.emplace(call.done->sent, +1);
    changes.emplace(call.done->ended, -1);
  }
  int now = 0, most = 0;
  for (auto at = changes.begin(); at != changes.end();) {
    Duration moment = at->first;
    for (; at != changes.end() && at->first == moment; ++at) now += at->second;
    most = std::max(most, now);
  }
  return static_cast<std::size_t>(most);
}

TEST(Simulation, limits_how_many_streams_reason_at_once) {
  std::string agent =
      "[run]\nworkflow = \"kernelagent\"\nworkflows = 1\niterations = 8\nmax_streams = ";
  EXPECT_EQ(max_reasoning_at_once(live_through(open_simulation(agent + "1\n"), 1).state), 1U);
  EXPECT_EQ(max_reasoning_at_once(live_through(open_simulation(agent + "2\n"), 1).state), 2U);
  EXPECT_GT(max_reasoning_at_once(live_through(open_simulation(agent + "0\n"), 1).state), 2U);
}

TEST(Simulation, an_unknown_workflow_is_an_error) {
  Simulation simulation = open_simulation("[run]\nworkflow = \"refin\"\n");
  auto report = simulation.run(1);
  ASSERT_FALSE(report);
  EXPECT_TRUE(report.error().context.contains("refin")) << report.error().context;
}

// One kind of fault only, so often that it must occur; the simulation must survive it.
class EveryFault : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryFault, occurs_and_is_survived) {
  auto fault = static_cast<Fault>(GetParam());
  std::string rate = is_probability(unit_of(fault)) ? "0.1" : "20";
  Simulation simulation = open_simulation(std::string(kSmall) + "[faults]\n" +
                                          std::string(to_string(fault)) + " = " + rate + "\n");
  std::uint64_t came = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SimulationReport report = live_through(simulation, seed);
    came += report.faults[GetParam()];
    for (std::size_t other = 0; other < kFaults; ++other) {
      if (other != GetParam()) {
        EXPECT_EQ(report.faults[other], 0u);
      }
    }
  }
  EXPECT_GT(came, 0u);
}

INSTANTIATE_TEST_SUITE_P(Faults, EveryFault, testing::Range(std::size_t{0}, kFaults),
                         [](const auto& tested) {
                           return std::string(to_string(static_cast<Fault>(tested.param)));
                         });

// The checks themselves, shown what must not be.
class Checks : public testing::Test {
 protected:
  Checks() : driver(1), loop(driver), faults({}, Random(1)), checks(loop, scenario, disk, faults) {}

  bool has_violation(std::string_view text) {
    for (const std::string& violation : checks.violations()) {
      if (violation.contains(text)) return true;
    }
    return false;
  }
  Entry entry(std::uint64_t sequence, EntryText text) {
    return {.sequence = sequence, .at = {}, .type = text.first, .body = text.second};
  }
  RunBegun begun() {
    RunBegun run;
    run.tasks = {{.name = "t", .where = "t", .backend = "cpu"}};
    run.workflow = "refine";
    run.criterion = "beats-mean";
    return run;
  }

  VirtualDriver driver;
  Loop loop;
  Scenario scenario;
  VirtualDisk disk;
  Faults faults;
  SimulationChecks checks;
};

TEST_F(Checks, find_a_device_with_two_jobs) {
  checks.on(PoolEvent(StageStarted{CandidateId{1}, Stage::validate, DeviceId{3}}));
  EXPECT_TRUE(checks.violations().empty());
  checks.on(PoolEvent(StageStarted{CandidateId{2}, Stage::validate, DeviceId{3}}));
  EXPECT_TRUE(has_violation("d3 gets c2 while it has c1"));
}

TEST_F(Checks, find_a_candidate_that_ends_twice) {
  checks.on(PoolEvent(CandidateEnded{CandidateId{1}, Verdict::ok}));
  checks.on(PoolEvent(CandidateEnded{CandidateId{1}, Verdict::ok}));
  EXPECT_TRUE(has_violation("c1 ended twice"));
}

TEST_F(Checks, find_a_starving_job) {
  checks.on(PoolEvent(StageQueued{CandidateId{1}, Stage::profile}));
  driver.wait(Time(scenario.checks.starvation + std::chrono::seconds(1)));
  checks.on(PoolEvent(StageStarted{CandidateId{1}, Stage::profile, DeviceId{1}}));
  EXPECT_TRUE(has_violation("c1 waited for profile"));
}

TEST_F(Checks, find_an_entry_that_differs_on_the_disk) {
  Entry written = entry(1, to_entry(begun()));
  checks.on(written);
  written.body.back() = ' ';
  disk.entries = {written};
  checks.controller_killed();
  EXPECT_TRUE(has_violation("entry 1 differs on the disk"));
}

TEST_F(Checks, find_a_state_that_the_journal_does_not_fold_to) {
  RunState state;
  checks.controller_started(state);
  EXPECT_TRUE(checks.violations().empty());
  Entry written = entry(1, to_entry(begun()));
  checks.on(written);
  checks.controller_started(state);  // which has not taken the entry
  EXPECT_TRUE(has_violation("folds to a different state"));
}

TEST_F(Checks, find_candidates_that_never_end_and_a_wrong_digest) {
  disk.entries = {entry(1, to_entry(begun())), entry(2, to_entry(IterationBegun{.id = {1}})),
                  entry(3, to_entry(CandidateFound{.id = {1}, .iteration = {1}}))};
  for (const Entry& each : disk.entries) checks.on(each);
  checks.ended("iterations", 0);
  EXPECT_TRUE(has_violation("1 candidates never ended"));
  EXPECT_TRUE(has_violation("1 iterations never ended"));
  EXPECT_TRUE(has_violation("folds to a different state at the end"));
  EXPECT_TRUE(has_violation("task 0 ended after 1 iterations"));
}

}  // namespace
}  // namespace specgen
