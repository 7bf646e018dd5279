#include "cli/compare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/compare_real.h"
#include "cli/scenario_files.h"
#include "cli/tasks.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "compare/compare_page.h"
#include "compare/comparison.h"
#include "compare/run_identity.h"
#include "compare/virtual_comparison.h"
#include "evaluate/host/machine.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// In a sweep only what tells whether speculation pays.
constexpr std::string_view kSweptSystems = "alphaevolve,specgen-off,specgen";
constexpr std::uint64_t kSweptSeeds = 3;
constexpr std::uint64_t kVirtualSeeds = 5, kRealSeeds = 3;
constexpr std::string_view kRealSystems = "cudaforge,alphaevolve,kernelagent,dispatch2,specgen";

Result<VirtualSetting> setting_of(const std::string& named, const std::vector<System>& systems) {
  fs::path file = TRY(scenario_file(named));
  std::string text = TRY(read_file(file));
  return VirtualSetting{.scenario = TRY(parse_scenario(text, file.string())),
                        .name = file.stem().string(),
                        .source = text,
                        .systems = systems};
}

std::vector<ComparedScenario> rows_of(const std::vector<ComparedSetting>& settings) {
  std::vector<ComparedScenario> scenarios;
  for (const ComparedSetting& setting : settings) scenarios.push_back(compare(setting));
  return scenarios;
}

// Before hours of work, not after them.
Result<void> check_page(const std::string& html) {
  if (html.empty()) return {};
  fs::path folder = fs::path(html).parent_path();
  if (folder.empty()) folder = ".";
  auto refuse = [&](std::string_view why, std::string advice) {
    return fail(ErrorCode::bad_usage, fmt::format("--html {}: {}", html, why), std::move(advice));
  };
  std::error_code ignored;
  if (fs::is_directory(html, ignored)) return refuse("it is a folder", "name a file in it");
  if (!fs::is_directory(folder, ignored)) {
    return refuse("its folder is not there",
                  fmt::format("make {}, or name a file in another folder", folder.string()));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return refuse("its folder cannot be written to", "name a file in another folder");
  }
  return {};
}

// Who gives such a word expects what would not happen.
Result<void> check_virtual_words(const CompareSystems& command) {
  for (const auto& [word, is_given] :
       {std::pair{"--tasks", !command.tasks.empty()}, std::pair{"--pace", !command.pace.empty()},
        std::pair{"--devices", !command.devices.empty()},
        std::pair{"--over-http", command.over_http}}) {
    if (!is_given) continue;
    return fail(ErrorCode::bad_usage, fmt::format("{}: virtual time has no use for it", word),
                "leave it out, or leave out --virtual to compare on real devices");
  }
  return {};
}

DataFolders shipped_data() {
  return {.triggers = {shipped_folder("triggers")}, .prompts = {shipped_folder("prompts")}};
}

Result<ExitCode> tell(const CompareSystems& command, const ComparisonInfo& info,
                      const std::vector<ComparedScenario>& scenarios,
                      const std::vector<ComparedScenario>& sweep) {
  TRY(print_output(command.json ? pretty_json(comparison_json(info, scenarios, sweep))
                                : comparison_text(scenarios, sweep)));
  if (!command.html.empty()) {
    TRY(write_file_durably(command.html, compare_page(info, scenarios, sweep)));
  }
  return ExitCode::done;
}

Result<ExitCode> compare_on_devices(const CompareSystems& command,
                                    const std::vector<System>& chosen) {
  std::string made_by = TRY(run_identity(version(), shipped_data()));
  auto scenarios = rows_of(TRY(runs_for_real(command, chosen, std::move(made_by))));
  ComparisonInfo info{.kind = "real",
                      .title = fmt::format("on real devices, {} seeds", command.seeds)};
  return tell(command, info, scenarios, {});
}

Result<ExitCode> compare_in_virtual_time(const CompareSystems& command,
                                         const std::vector<System>& chosen) {
  TRY(check_virtual_words(command));
  std::string made_by = TRY(run_identity(version(), shipped_data()));
  ProgressLine line;
  VirtualPlan plan{.settings = {},
                   .seeds = command.seeds,
                   .iterations = command.iterations,
                   .cells = command.out.empty() ? fs::path() : fs::path(command.out) / "cells",
                   .made_by = std::move(made_by),
                   .folders = shipped_data(),
                   .workers = look_at_machine(".").cores,
                   .on_progress = [&](std::size_t done, std::size_t all) {
                     line.show(fmt::format("{} of {} worlds", done, all));
                   }};
  std::vector<std::string> names = command.scenarios;
  if (names.empty()) names = {"paper-glm", "paper-deepseek"};
  for (const std::string& name : names) plan.settings.push_back(TRY(setting_of(name, chosen)));
  auto scenarios = rows_of(TRY(compare_virtually(plan)));

  std::vector<ComparedScenario> sweep;
  if (command.sweep) {
    VirtualPlan swept = plan;
    swept.settings.clear();
    swept.seeds = std::min(command.seeds, kSweptSeeds);
    for (VirtualSetting setting : plan.settings) {
      setting.systems = TRY(find_systems(kSweptSystems));
      for (VirtualSetting& changed : sweep_of(setting))
        swept.settings.push_back(std::move(changed));
    }
    sweep = rows_of(TRY(compare_virtually(swept)));
  }
  line.show({});
  ComparisonInfo info{.kind = "virtual",
                      .title = fmt::format("in virtual time, {} seeds", command.seeds)};
  return tell(command, info, scenarios, sweep);
}

}  // namespace

Result<ExitCode> compare_systems(const CompareSystems& asked) {
  CompareSystems command = asked;
  TRY(check_page(command.html));
  if (command.seeds == 0) command.seeds = command.is_virtual ? kVirtualSeeds : kRealSeeds;
  if (!command.is_virtual && command.systems.empty()) command.systems = kRealSystems;
  std::vector<System> chosen =
      command.systems.empty() ? systems() : TRY(find_systems(command.systems));
  return command.is_virtual ? compare_in_virtual_time(command, chosen)
                            : compare_on_devices(command, chosen);
}

}  // namespace specgen
