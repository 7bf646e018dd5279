#include "report/progress.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "report/fake_run.h"
#include "report/progress_display.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

// A terminal of any width: the lines it shows, and whether its cursor is visible.
struct Screen {
  std::vector<std::string> lines{""};
  std::size_t row = 0, column = 0;
  bool cursor = true;

  void write(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size();) {
      if (bytes[i] == '\r') {
        column = 0;
      } else if (bytes[i] == '\n') {
        column = 0;  // as the terminal driver does
        if (++row == lines.size()) lines.emplace_back();
      } else if (bytes[i] == '\x1b') {
        std::size_t end = bytes.find_first_of("ABCDHJKmlh", i + 2);
        std::string_view code = bytes.substr(i + 2, end - i - 2);
        if (bytes[end] == 'A') row -= std::min<std::size_t>(row, std::stoul(std::string(code)));
        if (bytes[end] == 'K') lines[row].resize(std::min(lines[row].size(), column));
        if (bytes[end] == 'J') {
          lines[row].resize(std::min(lines[row].size(), column));
          lines.resize(row + 1);
        }
        if (code == "?25") cursor = bytes[end] == 'h';
        i = end + 1;
        continue;
      } else {
        if (lines[row].size() <= column) lines[row].resize(column + 1, ' ');
        lines[row][column++] = bytes[i];
      }
      ++i;
    }
  }
};

ProgressView some_view() {
  ProgressView view;
  view.tasks.push_back({.name = "softmax",
                        .phase = "reasoning",
                        .numbers = {.iterations = 2, .forks = 3},
                        .tokens = 41200,
                        .best = 1.84});
  view.budgets.iterations = 6;
  view.devices = 2;
  view.busy_devices = 1;
  view.elapsed = 72s;
  return view;
}

TEST(Progress, there_is_a_line_for_each_task_and_one_for_the_run) {
  auto lines = progress_lines(some_view(), {.columns = 200, .rows = 24, .colour = false});
  ASSERT_EQ(lines.size(), 2U);
  for (const char* part :
       {"softmax", "1.84x", "2/6", "reasoning 1m12s", "3 forks", "41.2 k tokens"}) {
    EXPECT_TRUE(lines[0].contains(part)) << part << " in " << lines[0];
  }
  EXPECT_EQ(lines[1], "1/2 devices busy · 1m12s · 0 tokens");
}

TEST(Progress, no_line_is_wider_than_the_terminal) {
  for (std::size_t columns : {1U, 7U, 40U, 79U}) {
    for (const std::string& line :
         progress_lines(some_view(), {.columns = columns, .colour = false})) {
      std::size_t characters = 0;
      for (std::size_t i = 0; i < line.size();) {
        if (line[i] == '\x1b') {
          i = line.find('m', i) + 1;
          continue;
        }
        i += character_length(std::string_view(line).substr(i));
        ++characters;
      }
      EXPECT_LE(characters, columns) << line;
    }
  }
}

TEST(Progress, a_hundred_tasks_fit_a_small_terminal) {
  ProgressView view = some_view();
  view.tasks.resize(100, view.tasks[0]);
  auto lines = progress_lines(view, {.columns = 80, .rows = 10, .colour = false});
  EXPECT_LE(lines.size(), 10U);
  EXPECT_EQ(lines[lines.size() - 2], "… and 93 more tasks");
}

// A run whose entries are applied one by one, as a display sees them.
struct Followed {
  ProgressTracker tracker;
  RunState state;
  std::vector<std::string> texts, notable;

  void apply(const Entry& entry, Duration now = 5s) {
    ASSERT_TRUE(state.apply(entry));
    for (const ProgressEvent& event : tracker.update(state, now)) {
      texts.push_back(event.text);
      if (event.notable) notable.push_back(event.text);
    }
  }
  TaskProgress task() const { return tracker.view(state, {}, 9s).tasks.at(0); }
};

Followed followed(const FakeRun& run) {
  Followed result;
  for (const Entry& entry : run.entries()) result.apply(entry);
  return result;
}

TEST(Progress, the_tracker_follows_a_run) {
  FakeRun run;
  IterationId id = run.iteration();
  run.call(id, "main", 500, 0, 4);
  CandidateId first = run.candidate(id, Origin::harvest, "a", 2);
  run.confirm(first, 1.5, 6);
  CandidateId second = run.candidate(id, Origin::fork, "b", 3);
  run.confirm(second, 1.2, 7);
  run.end(id, IterationEnd::stopped, first, 900);
  run.candidate(id, Origin::main, "c", 8);

  Followed display = followed(run);
  EXPECT_EQ(display.notable, std::vector<std::string>{"softmax: c1 (harvest) ok, 1.5x (1.47 to "
                                                      "1.53), the best so far"});
  EXPECT_EQ(
      display.texts,
      (std::vector<std::string>{
          "softmax: iteration 1 begins",
          "softmax: c1 (harvest) ok, 1.5x (1.47 to 1.53), the best so far",
          "softmax: c2 (fork) ok, 1.2x (1.18 to 1.22)",
          "softmax: stopped early: c1 meets the stopping criterion; about 900 tokens saved"}));

  ProgressView view = display.tracker.view(display.state, {.devices = 2, .idle_devices = 1}, 9s);
  ASSERT_EQ(view.tasks.size(), 1U);
  const TaskProgress& task = view.tasks[0];
  EXPECT_EQ(task.numbers.iterations, 1);
  EXPECT_EQ(task.numbers.forks, 1);
  EXPECT_EQ(task.numbers.harvested, 1);
  EXPECT_EQ(task.numbers.profiled, 2);
  EXPECT_EQ(task.judged, 2);
  EXPECT_EQ(task.tokens, 500);
  EXPECT_EQ(task.phase, "evaluating");
  EXPECT_DOUBLE_EQ(task.best, 1.5);
  EXPECT_EQ(view.busy_devices, 1U);
  EXPECT_EQ(view.budgets.iterations, 6);
}

TEST(Progress, a_resumed_run_shows_its_tasks_and_does_not_repeat_its_past) {
  FakeRun run;
  IterationId id = run.iteration();
  run.call(id, "main", 500, 0, 4);
  run.confirm(run.candidate(id, Origin::harvest, "a", 2), 1.5, 6);
  run.add(resumed_entry(10s));
  // The display of a resumed run sees the state after all of these, then one entry at a time.
  Followed display;
  for (const Entry& entry : run.entries()) ASSERT_TRUE(display.state.apply(entry));
  ProgressEvents events = display.tracker.update(display.state, 10s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text, "the run continues: 1 iterations so far, best softmax 1.5x");
  EXPECT_EQ(display.task().name, "softmax");
  EXPECT_EQ(display.task().numbers.profiled, 1);
  EXPECT_EQ(display.task().tokens, 500);
  EXPECT_DOUBLE_EQ(display.task().best, 1.5);

  run.end(id, IterationEnd::interrupted);
  run.iteration();
  for (std::size_t i = run.entries().size() - 2; i < run.entries().size(); ++i) {
    display.apply(run.entries()[i]);
  }
  EXPECT_EQ(display.texts.back(), "softmax: iteration 1 begins")
      << "an interrupted one is not counted";
}

// The user's own kernel, a repeated candidate, cached prompt tokens, calls without an iteration, a restarted iteration.
TEST(Progress, live_numbers_equal_the_reports) {
  FakeRun run;
  IterationId start = run.iteration(0, std::string(kStartRole));
  run.confirm(run.candidate(start, Origin::main, "own", 1), 1.0, 4);
  run.end(start, IterationEnd::answered);
  IterationId restarted = run.iteration();
  run.end(restarted, IterationEnd::restarted);
  IterationId id = run.iteration();
  CandidateId first = run.candidate(id, Origin::fork, "a", 2);
  run.confirm(first, 1.5, 6);
  CandidateId repeat = run.candidate(id, Origin::main, "a", 7);
  run.judge(repeat, {.verdict = Verdict::ok,
                     .speedup = {1.5, 1.4, 1.6},
                     .profiled = true,
                     .repeated = true,
                     .at = 8s});
  run.add(to_entry(CallSent{.id = 7, .iteration = id, .purpose = "main"}));
  run.add(to_entry(
      CallDone{.id = 7,
               .usage = {.prompt_tokens = 1000, .cached_tokens = 900, .completion_tokens = 50},
               .ended = 9s}));
  run.add(to_entry(CallSent{.id = 8, .purpose = "advice"}));
  run.add(to_entry(CallDone{.id = 8, .usage = {.completion_tokens = 30}, .ended = 9s}));
  run.end(id, IterationEnd::answered);

  Followed display = followed(run);
  ProgressView live = display.tracker.view(display.state, {}, 9s);
  RunData data = run.data();
  Json report = boost::json::object{};
  add_summary(report, data, speculation_ledger(data.state));
  const Json& reported = report.at("tasks").at(0);
  EXPECT_EQ(live.tasks[0].numbers.iterations, 1);
  EXPECT_EQ(live.tasks[0].numbers.iterations, int_at(reported, "iterations"));
  EXPECT_EQ(live.tasks[0].numbers.feedback, int_at(reported, "feedback"));
  EXPECT_EQ(live.tasks[0].numbers.profiled, 2) << "the user's kernel and c2; not the repeat";
  EXPECT_EQ(live.tasks[0].numbers.profiled, int_at(reported, "profiled"));
  EXPECT_EQ(live.tasks[0].numbers.forks, int_at(reported, "forks"));
  EXPECT_EQ(live.tasks[0].tokens, 150) << "cached prompt tokens are not counted";
  const Json& tokens = report.at("tokens");
  EXPECT_EQ(live.tokens, 180);
  EXPECT_EQ(live.tokens,
            int_at(tokens, "main") + int_at(tokens, "forks") + int_at(tokens, "other"));
}

TEST(Progress, a_tracker_that_sees_several_entries_at_once_reports_all_of_them) {
  FakeRun run;
  Followed display = followed(run);
  IterationId id = run.iteration();
  run.confirm(run.candidate(id, Origin::main, "a", 2), 1.5, 6);
  run.end(id, IterationEnd::answered);
  for (std::size_t i = 1; i + 1 < run.entries().size(); ++i) {
    ASSERT_TRUE(display.state.apply(run.entries()[i]));
  }
  display.apply(run.entries().back());
  EXPECT_EQ(display.texts,
            (std::vector<std::string>{"softmax: iteration 1 begins",
                                      "softmax: c1 (main) ok, 1.5x (1.47 to 1.53), the best so far",
                                      "softmax: iteration 1 ends"}));
}

TEST(Progress, the_display_stays_in_place_below_notable_lines) {
  Screen screen;
  std::optional<TerminalSize> size = TerminalSize{.columns = 200, .rows = 24, .colour = false};
  ProgressDisplay display([&](std::string_view bytes) { screen.write(bytes); },
                          [&] { return size; });
  ProgressView view = some_view();
  display.draw(view);
  EXPECT_FALSE(screen.cursor);
  view.elapsed = 75s;
  display.draw(view);
  ASSERT_EQ(screen.lines.size(), 2U);
  EXPECT_TRUE(screen.lines[1].contains("1m15s"));
  display.show({{"an ordinary event"}});
  display.show({{"a new best", true}});
  ASSERT_EQ(screen.lines.size(), 3U);
  EXPECT_EQ(screen.lines[0], "a new best");
  EXPECT_TRUE(screen.lines[2].contains("1m15s"));
  display.finish();
  EXPECT_TRUE(screen.cursor);
  EXPECT_EQ(screen.lines, (std::vector<std::string>{"a new best", ""}));
}

TEST(Progress, an_unchanged_display_writes_nothing) {
  int writes = 0;
  ProgressDisplay display([&](std::string_view) { ++writes; }, [] { return TerminalSize{}; });
  display.draw(some_view());
  display.draw(some_view());
  EXPECT_EQ(writes, 1);
}

TEST(Progress, without_a_terminal_every_event_is_a_plain_line) {
  std::string written;
  ProgressDisplay display([&](std::string_view bytes) { written += bytes; },
                          [] { return std::optional<TerminalSize>(); });
  display.draw(some_view());
  display.show({{"one"}});
  display.show({});
  display.show({{"two", true}});
  display.finish();
  EXPECT_EQ(written, "one\ntwo\n");
}

}  // namespace
}  // namespace specgen
