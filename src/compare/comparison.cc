#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <map>

#include "base/assert.h"
#include "base/units.h"

namespace specgen {
namespace {

constexpr std::string_view kSpecgen = "specgen";

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  double sum = 0;
  for (double value : values) sum += value;
  auto [low, high] = std::ranges::minmax(values);
  return {.mean = sum / static_cast<double>(values.size()), .low = low, .high = high};
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

// Of one seed: the time when the first system ended and the tokens of the one that spent the fewest.
struct Common {
  double time_s = std::numeric_limits<double>::max();
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
};

void narrow(Common& common, const RunFigures& figures) {
  common.time_s = std::min(common.time_s, figures.wall_s);
  common.tokens = std::min(common.tokens, figures.tokens);
}

struct Measured {
  std::string_view name;
  double (*of)(const RunFigures&, const Common&);
};

// In the order of the JSON.
constexpr std::array kMeasured{
    Measured{"wall_s", [](const RunFigures& f, const Common&) { return f.wall_s; }},
    Measured{"feedback_per_100",
             [](const RunFigures& f, const Common&) { return f.feedback_per_100(); }},
    Measured{"profiled",
             [](const RunFigures& f, const Common&) { return static_cast<double>(f.profiled); }},
    Measured{"utilization", [](const RunFigures& f, const Common&) { return f.utilization(); }},
    Measured{"device_s_per_feedback",
             [](const RunFigures& f, const Common&) { return f.device_s_per_feedback(); }},
    Measured{"early_stop_share",
             [](const RunFigures& f, const Common&) { return f.early_stop_share(); }},
    Measured{"generation_share",
             [](const RunFigures& f, const Common&) { return f.generation_share(); }},
    Measured{"tokens",
             [](const RunFigures& f, const Common&) { return static_cast<double>(f.tokens); }},
    Measured{"fork_tokens",
             [](const RunFigures& f, const Common&) { return static_cast<double>(f.fork_tokens); }},
    Measured{"best_speedup", [](const RunFigures& f, const Common&) { return f.best_speedup(); }},
    Measured{"best_speedup_equal_time",
             [](const RunFigures& f, const Common& c) { return f.best_at_time(c.time_s); }},
    Measured{"best_speedup_equal_tokens",
             [](const RunFigures& f, const Common& c) { return f.best_at_tokens(c.tokens); }},
    Measured{"p95_feedback_wait_s",
             [](const RunFigures& f, const Common&) { return f.wait_s(0.95); }},
};

// Of specgen over another system with the same seed. Speedups are compared at the end of the shorter run.
struct Gained {
  std::string_view name;
  double (*of)(const RunFigures& specgen, const RunFigures& other, const Common&);
};
constexpr std::array kGained{
    Gained{"wall_lift", [](const RunFigures& s, const RunFigures& o,
                           const Common&) { return ratio(o.wall_s, s.wall_s); }},
    Gained{"feedback_lift",
           [](const RunFigures& s, const RunFigures& o, const Common&) {
             return ratio(s.feedback_per_100(), o.feedback_per_100());
           }},
    Gained{"equal_time_lift",
           [](const RunFigures& s, const RunFigures& o, const Common& c) {
             return ratio(s.best_at_time(c.time_s), o.best_at_time(c.time_s));
           }},
    Gained{"equal_tokens_lift",
           [](const RunFigures& s, const RunFigures& o, const Common& c) {
             return ratio(s.best_at_tokens(c.tokens), o.best_at_tokens(c.tokens));
           }},
};

const RunFigures* find_run(const ComparedSetting& setting, std::string_view system,
                           std::uint64_t seed) {
  for (const ComparedRun& run : setting.runs) {
    if (run.system == system && run.seed == seed) return &run.figures;
  }
  return nullptr;
}

void add_figures(const ComparedSetting& setting, ComparisonRow& row) {
  std::map<std::uint64_t, Common> common;
  for (const ComparedRun& run : setting.runs) narrow(common[run.seed], run.figures);
  for (const Measured& measured : kMeasured) {
    std::vector<double> values;
    for (const ComparedRun& run : setting.runs) {
      if (run.system == row.system) values.push_back(measured.of(run.figures, common[run.seed]));
    }
    row.figures.push_back({.name = measured.name, .value = spread_of(values)});
  }
}

void add_lifts(const ComparedSetting& setting, ComparisonRow& row) {
  for (const Gained& gained : kGained) {
    std::vector<double> values;
    for (const ComparedRun& run : setting.runs) {
      if (run.system != row.system) continue;
      const RunFigures* specgen = find_run(setting, kSpecgen, run.seed);
      if (!specgen) continue;
      Common common;
      narrow(common, *specgen);
      narrow(common, run.figures);
      values.push_back(gained.of(*specgen, run.figures, common));
    }
    if (!values.empty()) row.lifts.push_back({.name = gained.name, .value = spread_of(values)});
  }
}

boost::json::object json_of(const ComparisonRow& row) {
  boost::json::object json{{"system", row.system}, {"seeds", row.seeds}};
  boost::json::object spread, lifts, paper;
  for (const RowFigure& figure : row.figures) {
    json[figure.name] = finite_or_null(figure.value.mean);
    spread[figure.name] = boost::json::array{figure.value.low, figure.value.high};
  }
  for (const RowFigure& lift : row.lifts) {
    lifts[lift.name] = {
        {"mean", lift.value.mean}, {"low", lift.value.low}, {"high", lift.value.high}};
  }
  for (const PaperFigure& figure : row.paper) {
    paper[figure.figure] = {{"low", figure.low}, {"high", figure.high}, {"from", figure.where}};
  }
  json["spread"] = std::move(spread);
  json["specgen"] = std::move(lifts);
  json["paper"] = std::move(paper);
  return json;
}

boost::json::array json_of(std::span<const ComparedScenario> scenarios) {
  boost::json::array list;
  for (const ComparedScenario& scenario : scenarios) {
    boost::json::array rows;
    for (const ComparisonRow& row : scenario.rows) rows.push_back(json_of(row));
    list.push_back({{"name", scenario.name}, {"title", scenario.title}, {"rows", std::move(rows)}});
  }
  return list;
}

std::string text_of(const ComparisonRow& row) {
  auto mean = [&](std::string_view name) { return row.figure(name).mean; };
  auto lift = [&](std::string_view name) {
    const Spread* found = row.lift(name);
    return found ? fmt::format("{:.2f}", found->mean) : std::string();
  };
  return fmt::format(
      "{:<18} {:>8} {:>5.1f} {:>6} {:>5.1f} {:>6.0f} {:>5.0f} {:>4.0f} {:>8} {:>6.2f} {:>6.2f} "
      "{:>6.0f}  {:>5} {:>5} {:>5} {:>5}\n",
      row.system, format_duration(from_seconds(mean("wall_s"))), mean("feedback_per_100"),
      static_cast<std::int64_t>(mean("profiled")), 100 * mean("utilization"),
      mean("device_s_per_feedback"), 100 * mean("early_stop_share"), 100 * mean("generation_share"),
      format_count(mean("tokens")), mean("best_speedup_equal_time"),
      mean("best_speedup_equal_tokens"), mean("p95_feedback_wait_s"), lift("wall_lift"),
      lift("feedback_lift"), lift("equal_time_lift"), lift("equal_tokens_lift"));
}

std::string text_of(const ComparedScenario& scenario) {
  std::string text = fmt::format("{}: {}\n\n", scenario.name, scenario.title);
  text +=
      fmt::format("{:<18} {:>8} {:>5} {:>6} {:>5} {:>6} {:>5} {:>4} {:>8} {:>6} {:>6} {:>6}  {}\n",
                  "system", "wall", "fb %", "prof.", "use %", "dev s", "stop%", "gen%", "tokens",
                  "=time", "=tok", "p95 s", "specgen: wall fb =time =tok");
  for (const ComparisonRow& row : scenario.rows) text += text_of(row);
  return text + "\n";
}

}  // namespace

const Spread& ComparisonRow::figure(std::string_view name) const {
  auto found = std::ranges::find(figures, name, &RowFigure::name);
  SG_ASSERT(found != figures.end(), "unknown figure");
  return found->value;
}

const Spread* ComparisonRow::lift(std::string_view name) const {
  auto found = std::ranges::find(lifts, name, &RowFigure::name);
  return found == lifts.end() ? nullptr : &found->value;
}

const PaperFigure* ComparisonRow::published(std::string_view name) const {
  auto found = std::ranges::find(paper, name, &PaperFigure::figure);
  return found == paper.end() ? nullptr : &*found;
}

const ComparisonRow* ComparedScenario::row(std::string_view system) const {
  auto found = std::ranges::find(rows, system, &ComparisonRow::system);
  return found == rows.end() ? nullptr : &*found;
}

ComparedScenario compare(const ComparedSetting& setting) {
  ComparedScenario scenario{.name = setting.name, .title = setting.title, .rows = {}};
  for (const ComparedRun& run : setting.runs) {
    if (scenario.row(run.system)) continue;
    ComparisonRow row{.system = run.system,
                      .figures = {},
                      .lifts = {},
                      .paper = paper_figures(paper_model_of(setting.name), run.system),
                      .all = {}};
    for (const ComparedRun& each : setting.runs) {
      if (each.system != run.system) continue;
      ++row.seeds;
      add(row.all, each.figures);
    }
    add_figures(setting, row);
    add_lifts(setting, row);
    scenario.rows.push_back(std::move(row));
  }
  return scenario;
}

Json comparison_json(const ComparisonInfo& info, std::span<const ComparedScenario> scenarios,
                     std::span<const ComparedScenario> sweep) {
  return {{"schema", "specgen.comparison"},
          {"schema_version", 1},
          {"kind", info.kind},
          {"title", info.title},
          {"scenarios", json_of(scenarios)},
          {"sweep", json_of(sweep)}};
}

std::string comparison_text(std::span<const ComparedScenario> scenarios,
                            std::span<const ComparedScenario> sweep) {
  std::string text;
  for (const ComparedScenario& scenario : scenarios) text += text_of(scenario);
  if (!sweep.empty()) text += "Where speculation does not pay: one setting changed at a time\n\n";
  for (const ComparedScenario& scenario : sweep) text += text_of(scenario);
  text +=
      "fb %: iterations with feedback per 100; prof.: profiles; use %: share of device time used "
      "for\n"
      "unique candidates that were not withdrawn; dev s: device seconds per iteration with "
      "feedback;\n"
      "stop%: iterations stopped early; gen%: 75th percentile of the share of generation; =time, "
      "=tok:\n"
      "best speedup at equal time and at equal tokens; specgen: its gain over the system of the "
      "row.\n";
  return text;
}

}  // namespace specgen
