#include "compare/compare_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "compare/compare_charts.h"
#include "report/page_text.h"

namespace specgen {

std::string_view embedded_compare_page();  // generated
std::string_view embedded_report_style();

namespace {

constexpr int kQuantiles = 50;
constexpr std::size_t kMaxTasks = 12;  // of the charts by task

struct UnitOfTime {
  std::string name;
  double seconds;
};

// For a chart whose longest time is `max_s`.
UnitOfTime unit_for(double max_s) {
  if (max_s > 7200) return {.name = "h", .seconds = 3600};
  if (max_s > 120) return {.name = "min", .seconds = 60};
  return {.name = "s", .seconds = 1};
}

std::string panel(std::string_view text, const std::string& chart) {
  return fmt::format("<div class=\"panel\"><p>{}</p><div class=\"scroll\">{}</div></div>\n",
                     xml_escaped(text), chart);
}

std::vector<Bar> bars_of(const ComparedScenario& scenario, std::string_view figure, double unit) {
  std::vector<Bar> bars;
  for (const ComparisonRow& row : scenario.rows) {
    const Spread& value = row.figure(figure);
    Bar bar{.name = row.system,
            .value = value.mean / unit,
            .low = value.low / unit,
            .high = value.high / unit};
    if (const PaperFigure* published = row.published(figure)) {
      bar.paper_low = published->low / unit;
      bar.paper_high = published->high / unit;
    }
    bars.push_back(std::move(bar));
  }
  return bars;
}

// `bars` are in seconds.
std::string time_chart(const std::string& title, std::vector<Bar> bars) {
  double longest = 0;
  for (const Bar& bar : bars) longest = std::max({longest, bar.value, bar.high});
  UnitOfTime unit = unit_for(longest);
  for (Bar& bar : bars) {
    for (double* value : {&bar.value, &bar.low, &bar.high, &bar.paper_low, &bar.paper_high}) {
      *value /= unit.seconds;
    }
  }
  return bar_chart(title, unit.name, bars);
}

// An ablation of specgen, or a peer with speculation.
bool is_variation(const ComparisonRow& row) {
  return row.system.contains('-') || row.system.contains('+');
}

// The tasks of the first system: all have the same.
std::vector<std::string> tasks_of(const ComparedScenario& scenario) {
  std::vector<std::string> names;
  for (const ComparisonRow& row : scenario.rows) {
    if (is_variation(row)) continue;
    for (const TaskFigures& task : row.all.tasks) names.push_back(task.name);
    break;
  }
  return names;
}

// Means over seeds: the spread by task is not known.
std::vector<Bar> bars_by_task(const ComparedScenario& scenario, std::span<const std::string> tasks,
                              double (TaskFigures::*figure)() const) {
  std::vector<Bar> bars;
  for (const std::string& task : tasks) {
    bool begins_group = true;
    for (const ComparisonRow& row : scenario.rows) {
      auto its = std::ranges::find(row.all.tasks, task, &TaskFigures::name);
      if (is_variation(row) || its == row.all.tasks.end()) continue;
      double value = ((*its).*figure)();
      bars.push_back({.name = fmt::format("{}, {}", task, row.system),
                      .value = value,
                      .low = value,
                      .high = value,
                      .begins_group = begins_group});
      begins_group = false;
    }
  }
  return bars;
}

std::string task_charts(const ComparedScenario& scenario) {
  std::vector<std::string> tasks = tasks_of(scenario);
  if (tasks.empty()) return {};
  std::string which = "Task by task, means over seeds.";
  if (tasks.size() > kMaxTasks) {
    which += fmt::format(" The first {} of {} tasks.", kMaxTasks, tasks.size());
    tasks.resize(kMaxTasks);
  }
  return panel(which + " From the start of the run to the last result of the task.",
               time_chart("Wall time by task",
                          bars_by_task(scenario, tasks, &TaskFigures::mean_wall_s))) +
         panel(which, bar_chart("Iterations with feedback, per 100, by task", "",
                                bars_by_task(scenario, tasks, &TaskFigures::feedback_per_100)));
}

std::string status_chart(const ComparedScenario& scenario) {
  std::vector<Stack> stacks;
  for (const ComparisonRow& row : scenario.rows) {
    auto all = static_cast<double>(std::max<std::int64_t>(1, row.all.iterations));
    auto part = [&](std::int64_t count) { return static_cast<double>(count) / all; };
    std::int64_t early = std::min(row.all.early_stops, row.all.with_feedback);
    stacks.push_back(
        {.name = row.system,
         .parts = {part(early), part(row.all.with_feedback - early), 0, part(row.all.failed)}});
  }
  return stack_chart("Results of iterations",
                     {"stopped early", "feedback, not stopped", "", "no feedback"}, stacks);
}

std::vector<std::pair<double, double>> cdf_of(const std::vector<double>& sorted, double share) {
  std::vector<std::pair<double, double>> points{{0, 0}};
  if (sorted.empty()) return points;
  for (int i = 0; i <= kQuantiles; ++i) {
    double quantile = static_cast<double>(i) / kQuantiles;
    points.emplace_back(100 * quantile_of(sorted, quantile), 100 * share * quantile);
  }
  return points;
}

std::string stops_chart(const ComparedScenario& scenario) {
  std::vector<Curve> curves;
  for (const ComparisonRow& row : scenario.rows) {
    if (row.all.stops.empty()) continue;
    curves.push_back(
        {.name = row.system, .points = cdf_of(row.all.stops, row.all.early_stop_share())});
  }
  if (curves.empty()) return {};
  return panel(
      "How much of its reasoning an iteration had done when it was stopped early; share of all "
      "iterations. The full length is estimated from those that ran to their end. (Figure 6 of the "
      "paper.)",
      curve_chart({.title = "Where the reasoning was stopped",
                   .x = "% of the reasoning",
                   .y = "% of iterations",
                   .x_end = 100,
                   .y_end = 100},
                  curves));
}

std::string shares_chart(const ComparedScenario& scenario) {
  std::vector<Curve> curves;
  for (const ComparisonRow& row : scenario.rows) {
    if (is_variation(row)) continue;
    curves.push_back({.name = row.system, .points = cdf_of(row.all.shares, 1)});
  }
  return panel("Share of an iteration's time that is generation. (Motivation of the paper.)",
               curve_chart({.title = "Share of generation",
                            .x = "% of an iteration's time",
                            .y = "% of iterations",
                            .x_end = 100,
                            .y_end = 100},
                           curves));
}

std::string in_flight_chart(const ComparisonRow& row) {
  std::vector<Curve> curves{{.name = "reasoning", .points = {}, .is_stepped = true},
                            {.name = "forks", .points = {}, .is_stepped = true},
                            {.name = "validation", .points = {}, .is_stepped = true},
                            {.name = "profiling", .points = {}, .is_stepped = true}};
  for (const InFlight& point : row.all.in_flight) {
    curves[0].points.emplace_back(point.time_s, point.reasoning);
    curves[1].points.emplace_back(point.time_s, point.forks);
    curves[2].points.emplace_back(point.time_s, point.validating);
    curves[3].points.emplace_back(point.time_s, point.profiling);
  }
  return panel(fmt::format("Requests and jobs in progress with {}, waiting ones included. (Figures "
                           "4 and 12 of the paper.)",
                           row.system),
               curve_chart({.title = "In progress: " + row.system, .x = "seconds", .y = "requests"},
                           curves));
}

std::string best_chart(const ComparedScenario& scenario) {
  auto is_drawn = [](const ComparisonRow& row) { return !row.system.starts_with("specgen-"); };
  double max_s = 0;
  for (const ComparisonRow& row : scenario.rows) {
    if (is_drawn(row)) max_s = std::max(max_s, row.figure("wall_s").mean);
  }
  UnitOfTime unit = unit_for(max_s);
  std::vector<Curve> curves;
  for (const ComparisonRow& row : scenario.rows) {
    if (!is_drawn(row)) continue;
    Curve curve{.name = row.system, .points = {{0, 1}}, .is_stepped = true};
    for (const BestSince& best : row.all.best) {
      curve.points.emplace_back(best.time_s / unit.seconds, best.speedup);
    }
    double end = row.figure("wall_s").mean / unit.seconds;
    curve.points.emplace_back(end, curve.points.back().second);
    curves.push_back(std::move(curve));
  }
  return panel("Best speedup so far, geometric mean over tasks, of the first seed.",
               curve_chart({.title = "Time to speedup",
                            .x = unit.name,
                            .y = "speedup over the baseline",
                            .x_end = max_s / unit.seconds},
                           curves));
}

// What specgen gains over this system: mean, spread and the paper's figure, one below the other.
std::string lift_cell(const ComparisonRow& row, std::string_view name) {
  const Spread* lift = row.lift(name);
  if (!lift) return {};
  std::string text = fmt::format("{:.2f}×", lift->mean);
  if (lift->high > lift->low) {
    text += fmt::format("<br><small>{:.2f}–{:.2f}</small>", lift->low, lift->high);
  }
  const PaperFigure* published = row.published(name);
  if (!published) return text;
  text += fmt::format("<br><small>published {:.2f}", published->low);
  if (published->high > published->low) text += fmt::format("–{:.2f}", published->high);
  return text + "×</small>";
}

std::string table_of(const ComparedScenario& scenario) {
  std::string text =
      "<div class=\"panel\"><p>The last four columns: specgen compared with the system of the row, "
      "mean and range over seeds.</p><div class=\"scroll\"><table><tr><th>system</th>"
      "<th class=\"n\">wall time</th><th class=\"n\">feedback per 100</th>"
      "<th class=\"n\">device use</th><th class=\"n\">stopped early</th>"
      "<th class=\"n\">tokens</th><th class=\"n\">time, times shorter</th>"
      "<th class=\"n\">feedback, times more</th><th class=\"n\">speedup at equal time</th>"
      "<th class=\"n\">speedup at equal tokens</th></tr>\n";
  for (const ComparisonRow& row : scenario.rows) {
    text += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f}</td>"
        "<td class=\"n\">{:.1f} %</td><td class=\"n\">{:.0f} %</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td></tr>\n",
        xml_escaped(row.system), format_duration(from_seconds(row.figure("wall_s").mean)),
        row.figure("feedback_per_100").mean, 100 * row.figure("utilization").mean,
        100 * row.figure("early_stop_share").mean, format_count(row.figure("tokens").mean),
        lift_cell(row, "wall_lift"), lift_cell(row, "feedback_lift"),
        lift_cell(row, "equal_time_lift"), lift_cell(row, "equal_tokens_lift"));
  }
  return text + "</table></div></div>\n";
}

std::string section_of(const ComparedScenario& scenario) {
  constexpr double kPercent = 0.01;
  std::string text = fmt::format("<h2>{}</h2>\n<p class=\"lead\">{}</p>\n",
                                 xml_escaped(scenario.name), xml_escaped(scenario.title));
  text += table_of(scenario);
  text += panel("End to end. The thin line is the range over seeds.",
                time_chart("Wall time", bars_of(scenario, "wall_s", 1)));
  text += panel(
      "Red: published in the paper.",
      bar_chart("Iterations with feedback, per 100", "", bars_of(scenario, "feedback_per_100", 1)));
  text += task_charts(scenario);
  text += panel(
      "Share of device time used for unique candidates that were not withdrawn. Red: published.",
      bar_chart("Device use", "%", bars_of(scenario, "utilization", kPercent)));
  text += panel("Share of iterations.", status_chart(scenario));
  text += stops_chart(scenario);
  text += shares_chart(scenario);
  text += best_chart(scenario);
  for (const char* system : {"alphaevolve", "specgen"}) {
    if (const ComparisonRow* row = scenario.row(system)) text += in_flight_chart(*row);
  }
  return text;
}

std::string sweep_of(std::span<const ComparedScenario> sweep) {
  std::string text =
      "<h2>Where speculation does not pay</h2>\n<p class=\"lead\">One setting changed at a time. "
      "Compared with <i>specgen-off</i>: the same search on the same devices, without speculation. "
      "Below 1 it is slower.</p>\n<div class=\"panel\"><div class=\"scroll\"><table><tr>"
      "<th>setting</th><th class=\"n\">time, times shorter than specgen-off</th>"
      "<th class=\"n\">time, times shorter than alphaevolve</th>"
      "<th class=\"n\">feedback per 100</th><th class=\"n\">stopped early</th>"
      "<th class=\"n\">tokens, % of specgen-off</th>"
      "<th class=\"n\">tokens of forks, %</th></tr>\n";
  for (const ComparedScenario& scenario : sweep) {
    const ComparisonRow* off = scenario.row("specgen-off");
    const ComparisonRow* peer = scenario.row("alphaevolve");
    const ComparisonRow* on = scenario.row("specgen");
    if (!off || !on || !peer) continue;
    double tokens = on->figure("tokens").mean;
    text += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{:.2f}×</td><td class=\"n\">{:.2f}×</td>"
        "<td class=\"n\">{:.1f}</td><td class=\"n\">{:.0f} %</td><td class=\"n\">{:.0f} %</td>"
        "<td class=\"n\">{:.0f} %</td></tr>\n",
        xml_escaped(scenario.name), off->lift("wall_lift")->mean, peer->lift("wall_lift")->mean,
        on->figure("feedback_per_100").mean, 100 * on->figure("early_stop_share").mean,
        100 * tokens / std::max(1.0, off->figure("tokens").mean),
        100 * on->figure("fork_tokens").mean / std::max(1.0, tokens));
  }
  return text + "</table></div></div>\n";
}

}  // namespace

std::string compare_page(const ComparisonInfo& info, std::span<const ComparedScenario> scenarios,
                         std::span<const ComparedScenario> sweep) {
  std::string body;
  for (const ComparedScenario& scenario : scenarios) body += section_of(scenario);
  if (!sweep.empty()) body += sweep_of(sweep);
  return fill_template(embedded_compare_page(), {{"title", "Comparison of systems"},
                                                 {"style", std::string(embedded_report_style())},
                                                 {"kind", xml_escaped(info.kind)},
                                                 {"lead", xml_escaped(info.title)},
                                                 {"body", std::move(body)}});
}

}  // namespace specgen
