#include "compare/virtual_comparison.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/hash.h"
#include "runtime/thread_team.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// Of how figures are computed from a simulation and stored. Changes of the simulation itself are in the plan's made_by.
constexpr int kCellVersion = 2;

struct Cell {
  const VirtualSetting* setting = nullptr;
  const System* system = nullptr;
  std::uint64_t seed = 0;
  fs::path file = {};  // empty: not stored
  Result<RunFigures> figures = RunFigures();
};

fs::path file_of(const VirtualPlan& plan, const Cell& cell) {
  if (plan.cells.empty()) return {};
  std::string identity =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", kCellVersion, plan.made_by, cell.setting->source,
                  cell.setting->name, cell.system->name, cell.seed, plan.iterations);
  constexpr std::size_t kDigits = 24;
  return plan.cells / (sha256_hex(identity).substr(0, kDigits) + ".json");
}

std::optional<RunFigures> stored(const fs::path& file) {
  if (file.empty()) return std::nullopt;
  auto text = read_file(file);
  auto json = text ? parse_json(*text) : Result<Json>(std::unexpected(text.error()));
  if (!json) return std::nullopt;
  auto figures = run_figures_from(*json);
  if (!figures) return std::nullopt;
  return *std::move(figures);
}

Result<RunFigures> simulate(const VirtualPlan& plan, const Cell& cell) {
  if (auto known = stored(cell.file)) return *std::move(known);
  Scenario scenario = cell.setting->scenario;
  if (plan.iterations > 0) scenario.run.iterations = plan.iterations;
  Simulation simulation =
      TRY(Simulation::open(scenario_of(std::move(scenario), *cell.system), plan.folders));
  SimulationReport report = TRY(simulation.run(cell.seed));
  if (!report.violations.empty()) {
    return fail(ErrorCode::harness_failed,
                fmt::format("{}, {}, seed {}: {}", cell.setting->name, cell.system->name, cell.seed,
                            report.violations.front()),
                "this is a bug in specgen; please report it");
  }
  RunFigures figures = figures_of(report.state, report.state.run.devices.size(),
                                  static_cast<std::size_t>(cell.system->generations));
  if (!cell.file.empty()) TRY(write_file_durably(cell.file, compact_json(to_json(figures))));
  return figures;
}

}  // namespace

Scenario scenario_of(Scenario scenario, const System& system) {
  scenario.run.workflow = system.workflow;
  scenario.run.max_streams = system.max_streams;
  scenario.run.iterations *= system.generations;
  scenario.speculation.harvest = system.harvest;
  scenario.speculation.forks = system.forks;
  scenario.speculation.stopping.early_stop = system.early_stop;
  scenario.pool.scheduler.form = system.pool;
  return scenario;
}

Result<std::vector<ComparedSetting>> compare_virtually(const VirtualPlan& plan) {
  if (!plan.cells.empty()) {
    std::error_code trouble;
    fs::create_directories(plan.cells, trouble);
    if (trouble) {
      return fail(ErrorCode::system_call,
                  fmt::format("{}: {}", plan.cells.string(), trouble.message()));
    }
  }
  std::vector<Cell> cells;
  for (std::uint64_t seed = 1; seed <= plan.seeds; ++seed) {
    for (const VirtualSetting& setting : plan.settings) {
      for (const System& system : setting.systems) {
        cells.push_back({.setting = &setting, .system = &system, .seed = seed});
        cells.back().file = file_of(plan, cells.back());
      }
    }
  }
  std::atomic<std::size_t> next = 0, done = 0;
  ThreadTeam team(std::max(1, plan.workers), {});
  team.wake();
  team.run([&](int worker) {
    for (std::size_t i = next++; i < cells.size(); i = next++) {
      // From the back: systems with speculation take longest and are last in the list.
      Cell& cell = cells[cells.size() - 1 - i];
      cell.figures = simulate(plan, cell);
      ++done;
      if (worker == 0 && plan.on_progress) plan.on_progress(done, cells.size());
    }
  });
  team.rest();
  std::vector<ComparedSetting> compared;
  for (const VirtualSetting& setting : plan.settings) {
    ComparedSetting all{.name = setting.name, .title = setting.scenario.title, .runs = {}};
    for (Cell& cell : cells) {
      if (cell.setting != &setting) continue;
      all.runs.push_back({.system = cell.system->name,
                          .seed = cell.seed,
                          .figures = TRY(std::move(cell.figures))});
    }
    compared.push_back(std::move(all));
  }
  return compared;
}

std::vector<VirtualSetting> sweep_of(const VirtualSetting& setting) {
  using Change = void (*)(Scenario&);
  struct Variant {
    std::string_view name;
    Change change;
  };
  static constexpr std::array kVariants{
      Variant{"unchanged", [](Scenario&) {}},
      Variant{"forks half as good", [](Scenario& s) { s.model.skill.fork_quality *= 0.5; }},
      Variant{"useless forks", [](Scenario& s) { s.model.skill.fork_quality = 0; }},
      Variant{"no drafts in the text", [](Scenario& s) { s.model.trace.drafts = 0; }},
      Variant{"useless forks, no drafts",
              [](Scenario& s) {
                s.model.skill.fork_quality = 0;
                s.model.trace.drafts = 0;
              }},
      Variant{"evaluation twice as slow",
              [](Scenario& s) {
                for (ServiceTime* time : {&s.host.compile, &s.host.validate, &s.host.profile}) {
                  time->median *= 2;
                }
              }},
      Variant{"half the devices",
              [](Scenario& s) { s.host.devices = std::max<std::int64_t>(1, s.host.devices / 2); }},
      Variant{"tokens twice as fast", [](Scenario& s) { s.model.endpoint.tokens_per_second *= 2; }},
      Variant{"traces twice as long", [](Scenario& s) { s.model.writing.reasoning_tokens *= 2; }},
      Variant{"traces a quarter as long",
              [](Scenario& s) { s.model.writing.reasoning_tokens /= 4; }},
      Variant{"no prefix cache", [](Scenario& s) { s.model.endpoint.prefix_cache = false; }},
  };
  std::vector<VirtualSetting> settings;
  for (const Variant& variant : kVariants) {
    VirtualSetting changed = setting;
    changed.name = fmt::format("{}: {}", setting.name, variant.name);
    variant.change(changed.scenario);
    settings.push_back(std::move(changed));
  }
  return settings;
}

}  // namespace specgen
