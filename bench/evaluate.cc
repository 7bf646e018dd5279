// Evaluation: the time of a candidate from source to verdict, the share of the harness, and how stable its speedup
// is. On a CPU by default; scripts/gpu runs the same on a GPU.

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include "base/file.h"
#include "candidates.h"
#include "evaluate/task/kernel_task.h"
#include "figures.h"

namespace specgen {
namespace {

struct Fixture {
  RealDriver driver;
  Loop loop = Loop(driver);
  Processes processes = Processes(loop, driver);
};

std::string ms(double seconds) {
  return fmt::format("{:.0f} ms", 1e3 * seconds);
}

// `specgen eval` as a command.
Result<Json> eval_once(Fixture& fixture, const std::string& task, const std::string& candidate) {
  Finished run = TRY(fixture.loop.run(fixture.processes.run(
      {.argv = {(program_folder() / "specgen").string(), "eval", task, candidate, "--json"},
       .time_limit = std::chrono::minutes(5)})));
  return parse_json(run.output);
}

double timing(const Json& evaluation, std::string_view key) {
  const Json* timings = member_at(evaluation, "timings_ms");
  return timings ? 1e-3 * number_at(*timings, key) : 0;
}

// The spread of medians of the same kernel, relative to their median.
void print_stability(std::vector<double> speedups, double goal) {
  if (speedups.empty()) return;
  double middle = quantile(speedups, 0.5);
  double worst = 0;
  for (double speedup : speedups) worst = std::max(worst, std::abs(speedup / middle - 1));
  at_most(fmt::format("a copy of the baseline, judged {} times: furthest from their median",
                      speedups.size()),
          worst, goal, fmt::format("{:.1f} %", 100 * worst), fmt::format("{:.0f} %", 100 * goal));
  double highest = *std::ranges::max_element(speedups);
  at_most("  highest speedup it was ever given", highest, 1.05, fmt::format("{:.3f}", highest),
          "1.05");
}

// The time of validations: the median of each part, longest first.
struct Shares {
  std::map<std::string, std::vector<double>> kinds;

  void add(const Passage& passage) {
    for (const auto& [what, ms] : passage.breakdown_ms) kinds[what].push_back(ms);
  }
  double median(const std::string& what) { return quantile(kinds[what], 0.5); }
  void print() {
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [what, all] : kinds) sorted.emplace_back(quantile(all, 0.5), what);
    std::ranges::sort(sorted, std::greater());
    for (const auto& [middle, what] : sorted) {
      note("  " + what, fmt::format("{:.1f} ms, longest {:.0f} ms", middle,
                                    *std::ranges::max_element(kinds[what])));
    }
  }
};

// The times of candidates, one after the other.
struct Taken {
  std::vector<double> totals, compiles, overheads, speedups;

  void add(const Result<Json>& evaluation, double wall) {
    if (!evaluation || text_at(*evaluation, "verdict") != "ok") {
      note("  not ok", evaluation ? text_at(*evaluation, "verdict") : evaluation.error().summary());
      return;
    }
    totals.push_back(wall);
    compiles.push_back(timing(*evaluation, "compile"));
    overheads.push_back(wall - timing(*evaluation, "compile") - timing(*evaluation, "measure"));
    speedups.push_back(number_at(*member_at(*evaluation, "speedup"), "median"));
  }
};

}  // namespace

void bench_evaluate() {
  constexpr int kTimes = 20;
  Fixture fixture;
  std::string task = source_folder("tasks/softmax").string();
  std::string candidate = task + "/baseline.cc";

  heading(
      fmt::format("Evaluation on cpu:0 by a judge that knows the task: softmax, {} times", kTimes));
  WarmJudge judge(fixture.loop, fixture.driver, fixture.processes, "cpu:0");
  auto source = read_file(candidate);
  auto prepared = judge.prepare(task);
  if (!source || !prepared) return note("softmax cannot be prepared", "");
  Taken warm;
  (void)judge.evaluate(task, *source);
  for (int i = 0; i < kTimes; ++i) {
    Stopwatch watch;
    // A new source every time, so that no cache is used.
    auto evaluation = judge.evaluate(task, fmt::format("{}\n// {}\n", *source, i));
    warm.add(evaluation, watch.seconds());
  }
  double median = quantile(warm.totals, 0.5);
  at_most("from source to verdict, median", median, 1.5, ms(median), "1500 ms");
  note("  of it the compiler", ms(quantile(warm.compiles, 0.5)));
  double overhead = quantile(warm.overheads, 0.5);
  at_most("  of it harness: neither compiling nor measuring", overhead, 0.15, ms(overhead),
          "150 ms");
  note("  once per task: references, baseline", ms(*prepared));
  print_stability(std::move(warm.speedups), 0.05);

  heading(fmt::format("`specgen eval tasks/softmax tasks/softmax/baseline.cc`, {} times", kTimes));
  Taken cold;
  (void)eval_once(fixture, task, candidate);  // fills the caches, as for a user
  for (int i = 0; i < kTimes; ++i) {
    Stopwatch watch;
    auto evaluation = eval_once(fixture, task, candidate);
    cold.add(evaluation, watch.seconds());
  }
  note("from the command to its end, median", ms(quantile(cold.totals, 0.5)));
  note("  of it neither compiling nor measuring", ms(quantile(cold.overheads, 0.5)));
  print_stability(std::move(cold.speedups), 0.05);
}

void bench_gpu_evaluate() {
  heading("Evaluation on cuda:0, a warm judge, each task's own baseline as the candidate");
  Fixture fixture;
  WarmJudge judge(fixture.loop, fixture.driver, fixture.processes, "cuda:0");
  auto tasks = list_tasks(source_folder("tasks"));
  if (!tasks) return note("no tasks", tasks.error().summary());
  std::vector<double> validated, profiled;
  Shares shares;
  for (const ListedTask& listed : *tasks) {
    if (!listed.task) continue;
    std::string task = listed.folder.string();
    auto prepared = judge.prepare(task);
    if (!prepared) {
      note(listed.task->name, prepared.error().summary());
      continue;
    }
    std::vector<double> here_validated, here_profiled;
    Shares here;
    std::string last;
    for (int i = 0; i < 3; ++i) {
      // A new source every time, so that no cache is used.
      std::string source = fmt::format("{}\n// {}\n", listed.task->baseline_cu, i);
      auto passage = judge.pass(task, source, true);
      last = passage ? passage->verdict + " " + passage->evidence : passage.error().summary();
      if (!passage || passage->verdict != "ok") continue;
      here_validated.push_back(passage->validated_s());
      here_profiled.push_back(passage->profiled_s());
      here.add(*passage);
      shares.add(*passage);
      last += fmt::format("{:.3f}", passage->speedup);
    }
    note(fmt::format("{}: validated, profiled (prepared in {})", listed.task->name, ms(*prepared)),
         fmt::format("{}, {}; {}", ms(quantile(here_validated, 0.5)),
                     ms(quantile(here_profiled, 0.5)), last));
    note("  of it compiling, checks, settling, screen",
         fmt::format("{:.0f}, {:.0f}, {:.0f}, {:.0f} ms", here.median("compiler"),
                     here.median("checks in all"), here.median("settle"),
                     here.median("screen in all")));
    validated.insert(validated.end(), here_validated.begin(), here_validated.end());
    profiled.insert(profiled.end(), here_profiled.begin(), here_profiled.end());
  }
  if (validated.empty()) return note("NOTHING WAS MEASURED", "no candidate was judged ok");
  note("candidates that were judged ok", std::to_string(validated.size()));
  double to_validated = quantile(validated, 0.5), to_profiled = quantile(profiled, 0.5);
  at_most("source to validated, median", to_validated, 0.3, ms(to_validated), "300 ms");
  note("  nine of ten within", ms(quantile(validated, 0.9)));
  at_most("source to profiled feedback, median", to_profiled, 1.5, ms(to_profiled), "1500 ms");

  heading("Time of a validation on cuda:0, median over all of them");
  shares.print();

  heading("Steadiness on cuda:0: the baseline of rms_norm");
  std::string task = source_folder("tasks/rms_norm").string();
  auto loaded = load_task(task);
  std::vector<double> speedups;
  for (int i = 0; loaded && i < 20; ++i) {
    auto passage =
        judge.pass(task, fmt::format("{}\n// steady {}\n", loaded->baseline_cu, i), true);
    if (passage && passage->verdict == "ok") speedups.push_back(passage->speedup);
  }
  print_stability(std::move(speedups), 0.02);
}

// KernelBench problems at their original shapes: bench/kernelbench/NAME has a task and candidates.
void bench_gpu_kernelbench() {
  heading("Candidates per minute on cuda:0 at KernelBench's shapes, source to profiled feedback");
  Fixture fixture;
  WarmJudge judge(fixture.loop, fixture.driver, fixture.processes, "cuda:0");
  for (const char* name : {"relu", "softmax", "matmul"}) {
    std::string folder = (source_folder("bench/kernelbench") / name).string();
    auto source = read_file(folder + "/candidate.cu");
    auto prepared = judge.prepare(folder);
    if (!source || !prepared) {
      note(name, prepared ? "no candidate" : prepared.error().summary());
      continue;
    }
    std::vector<double> took;
    std::string last;
    for (int i = 0; i < 6; ++i) {
      auto passage = judge.pass(folder, fmt::format("{}\n// {}\n", *source, i), true);
      last = passage ? fmt::format("{} {} {:.2f}x", passage->verdict, passage->evidence,
                                   passage->speedup)
                     : passage.error().summary();
      if (passage && passage->verdict == "ok") took.push_back(passage->profiled_s());
    }
    if (took.empty()) {
      note(name, last);
      continue;
    }
    // A fortieth of the time that KernelBench takes, which peers_way.py measures.
    constexpr double kPeersSeconds = 113, kTimes = 40;
    double median = quantile(took, 0.5);
    at_most(fmt::format("{}: a candidate, {}", name, last), median, kPeersSeconds / kTimes,
            fmt::format("{:.2f} s, {:.1f} a minute", median, 60 / median),
            fmt::format("{:.1f} s", kPeersSeconds / kTimes));
  }
}

}  // namespace specgen
