#include "report/progress.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/fake_run.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

// What a terminal of any width shows after these bytes: the lines, and whether its cursor can be seen.
struct Screen {
  std::vector<std::string> lines{""};
  std::size_t row = 0, column = 0;
  bool cursor = true;

  void write(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size();) {
      if (bytes[i] == '\r') {
        column = 0;
      } else if (bytes[i] == '\n') {
        column = 0;  // as a terminal driver does
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
                        .phase = "thinking",
                        .iterations = 2,
                        .tokens = 41200,
                        .forks = 3,
                        .best = 1.84});
  view.budgets.iterations = 6;
  view.devices = 2;
  view.busy_devices = 1;
  view.elapsed = 72s;
  return view;
}

TEST(Progress, a_line_tells_a_task_and_the_last_the_run) {
  auto lines = progress_lines(some_view(), {.columns = 200, .rows = 24, .colour = false});
  ASSERT_EQ(lines.size(), 2U);
  for (const char* part :
       {"softmax", "1.84x", "2/6", "thinking 1m12s", "3 forks", "41.2 k tokens"}) {
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

  ProgressTracker tracker;
  std::vector<std::string> told, notable;
  for (const Entry& entry : run.entries()) {
    auto event = tracker.take(entry, 5s);
    if (event) told.push_back(event->text);
    if (event && event->notable) notable.push_back(event->text);
  }
  EXPECT_EQ(notable, std::vector<std::string>{
                         "softmax: c1 (harvest) ok, 1.5x (1.47 to 1.53), the best so far"});
  EXPECT_EQ(told.size(), 4U);
  EXPECT_TRUE(told[3].contains("stopped early, c1 is good enough; about 900")) << told[3];

  PoolLoad load{.devices = 2, .idle_devices = 1};
  ProgressView view = tracker.view(load, 9s);
  ASSERT_EQ(view.tasks.size(), 1U);
  const TaskProgress& task = view.tasks[0];
  EXPECT_EQ(task.iterations, 1);
  EXPECT_EQ(task.forks, 1);
  EXPECT_EQ(task.harvested, 1);
  EXPECT_EQ(task.feedback, 2);
  EXPECT_EQ(task.tokens, 500);
  EXPECT_EQ(task.phase, "judging");
  EXPECT_DOUBLE_EQ(task.best, 1.5);
  EXPECT_EQ(view.busy_devices, 1U);
  EXPECT_EQ(view.budgets.iterations, 6);
}

TEST(Progress, the_display_stays_in_place_and_lets_notable_lines_stand_above) {
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
  display.tell(ProgressEvent{"not worth it"});
  display.tell(ProgressEvent{"a new best", true});
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
  display.tell(ProgressEvent{"one"});
  display.tell(std::nullopt);
  display.tell(ProgressEvent{"two", true});
  display.finish();
  EXPECT_EQ(written, "one\ntwo\n");
}

}  // namespace
}  // namespace specgen
