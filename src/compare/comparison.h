#pragma once
// A comparison of systems from the figures of their runs, simulated or real: rows with mean and range over seeds, and
// what specgen gains over each. Runs of the same seed are compared with each other. Pure functions.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "compare/paper_figures.h"
#include "search/run_figures.h"

namespace specgen {

struct ComparedRun {
  std::string system;
  std::uint64_t seed = 0;
  RunFigures figures;
};

// All runs of one setting: a scenario in virtual time, or a set of tasks on real devices.
struct ComparedSetting {
  std::string name;   // "paper-glm"
  std::string title;  // for people
  std::vector<ComparedRun> runs;
};

struct Spread {  // over seeds
  double mean = 0;
  double low = 0;
  double high = 0;
};

// One figure of a row, under its name in JSON.
struct RowFigure {
  std::string_view name;
  Spread value;
};

struct ComparisonRow {
  std::string system;
  std::size_t seeds = 0;
  std::vector<RowFigure> figures;  // wall_s, feedback_per_100, ...: the same in every row
  std::vector<RowFigure> lifts;    // of specgen over this system; empty without specgen
  std::vector<PaperFigure> paper;
  RunFigures all;  // of all seeds together, for charts

  const Spread& figure(std::string_view name) const;          // must be there
  const Spread* lift(std::string_view name) const;            // null if there is none
  const PaperFigure* published(std::string_view name) const;  // null if not published
};

struct ComparedScenario {
  std::string name;
  std::string title;
  std::vector<ComparisonRow> rows;

  const ComparisonRow* row(std::string_view system) const;
};

// Rows in the order of the systems' first runs.
ComparedScenario compare(const ComparedSetting& setting);

// For the heading of a comparison.
struct ComparisonInfo {
  std::string kind;   // "virtual" or "real"
  std::string title;  // "in virtual time, 5 seeds"
};

// Schema specgen.comparison.
Json comparison_json(const ComparisonInfo& info, std::span<const ComparedScenario> scenarios,
                     std::span<const ComparedScenario> sweep);
std::string comparison_text(std::span<const ComparedScenario> scenarios,
                            std::span<const ComparedScenario> sweep);

}  // namespace specgen
