#include "cli/commands/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/options.h"
#include "cli/shipped_files.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "compare/compare_page.h"
#include "compare/comparison.h"
#include "compare/real_comparison.h"
#include "compare/run_identity.h"
#include "compare/system.h"
#include "compare/virtual_comparison.h"
#include "evaluate/host/machine.h"
#include "generate/author/author_options.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// The sweep compares only these: does speculation pay?
constexpr std::string_view kSweptSystems = "alphaevolve,specgen-off,specgen";
constexpr std::uint64_t kSweptSeeds = 3;
constexpr std::uint64_t kVirtualSeeds = 5, kRealSeeds = 3;
// Defaults on real devices.
constexpr std::string_view kRealSystems = "cudaforge,alphaevolve,kernelagent,dispatch2,specgen";
constexpr std::string_view kRealTasks = "softmax,matmul_square,hinge_loss";
constexpr std::string_view kRealPace = "600,tokens=12000";
constexpr std::string_view kRealFolder = "specgen-comparison";
constexpr std::int64_t kRealIterations = 6;

struct CompareOptions {
  bool is_virtual = false;
  std::vector<std::string> scenarios = {};  // empty: those of the paper
  std::string systems = {};     // with commas; empty: all, or on devices the peers and specgen
  std::string tasks = {};       // on devices; with commas; empty: the default ones
  std::string pace = {};        // on devices; of the author; empty: the default one
  std::string devices = {};     // on devices; empty: all
  bool over_http = false;       // on devices
  std::uint64_t seeds = 0;      // 0: the default number
  std::int64_t iterations = 0;  // 0: as the scenario says, or on devices the default number
  bool sweep = false;
  std::string html = {};
  std::string out = {};
  bool json = false;
};

Result<VirtualSetting> setting_of(const std::string& named, const std::vector<System>& systems) {
  fs::path file = TRY(find_scenario(named));
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

// Checked before hours of work, not after them.
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
    return refuse("its folder does not exist",
                  fmt::format("make {}, or name a file in another folder", folder.string()));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return refuse("its folder cannot be written to", "name a file in another folder");
  }
  return {};
}

// An option that has no effect is refused: the user expects one.
Result<void> check_options(const CompareOptions& options) {
  TRY(check_page(options.html));
  if (!options.is_virtual) {
    if (options.scenarios.empty()) return {};
    return fail(ErrorCode::bad_usage, "--scenario has no effect on real devices",
                "add --virtual, or leave it out");
  }
  for (const auto& [flag, is_given] :
       {std::pair{"--tasks", !options.tasks.empty()}, std::pair{"--pace", !options.pace.empty()},
        std::pair{"--devices", !options.devices.empty()},
        std::pair{"--over-http", options.over_http}}) {
    if (!is_given) continue;
    return fail(ErrorCode::bad_usage, fmt::format("{} has no effect in virtual time", flag),
                "leave it out, or leave out --virtual to compare on real devices");
  }
  return {};
}

DataFolders shipped_data() {
  return {.triggers = {shipped_folder("triggers")}, .prompts = {shipped_folder("prompts")}};
}

Result<ExitCode> print(const CompareOptions& options, const ComparisonInfo& info,
                       const std::vector<ComparedScenario>& scenarios,
                       const std::vector<ComparedScenario>& sweep) {
  TRY(print_output(options.json ? pretty_json(comparison_json(info, scenarios, sweep))
                                : comparison_text(scenarios, sweep)));
  if (!options.html.empty()) {
    TRY(write_file_durably(options.html, compare_page(info, scenarios, sweep)));
  }
  return ExitCode::done;
}

std::string value_or(const std::string& given, std::string_view fallback) {
  return given.empty() ? std::string(fallback) : given;
}

Result<RealPlan> real_plan(const CompareOptions& options, const std::vector<System>& chosen) {
  RealPlan plan{.program = "/proc/self/exe",
                .tasks = {},
                .systems = chosen,
                .seeds = options.seeds,
                .iterations = options.iterations > 0 ? options.iterations : kRealIterations,
                .pace = value_or(options.pace, kRealPace),
                .slacks = {},
                .devices = value_or(options.devices, "auto"),
                .over_http = options.over_http,
                .folder = value_or(options.out, kRealFolder),
                .made_by = TRY(run_identity(version(), shipped_data()))};
  double slack = TRY(author_at_pace(plan.pace)).slack;
  if (options.sweep) plan.slacks = {slack, slack / 2, 0};
  std::string tasks = value_or(options.tasks, kRealTasks);
  for (std::string_view name : split(tasks, ',')) plan.tasks.push_back(TRY(find_task(trim(name))));
  plan.on_progress = [](std::size_t done, std::size_t all, const std::string& what) {
    print_error(fmt::format("{} of {} runs done; {}", done, all, what));
  };
  return plan;
}

Result<ExitCode> compare_on_devices(const CompareOptions& options,
                                    const std::vector<System>& chosen) {
  RealPlan plan = TRY(real_plan(options, chosen));
  if (std::ranges::all_of(chosen, &System::speculates)) {
    print_error(
        "all of these systems speculate: whether the pace leaves generation most of an iteration "
        "is not checked");
  }
  auto settings = TRY(run_on_loop<std::vector<ComparedSetting>>([&](CommandLoop& command) {
    return compare_for_real(
        {.loop = command.loop, .driver = command.driver, .processes = command.processes}, plan);
  }));
  ComparisonInfo info{.kind = "real",
                      .title = fmt::format("on real devices, {} seeds", options.seeds)};
  return print(options, info, rows_of(settings), {});
}

// One thing changed at a time.
Result<std::vector<ComparedScenario>> run_sweep(VirtualPlan plan) {
  plan.seeds = std::min(plan.seeds, kSweptSeeds);
  std::vector<VirtualSetting> settings = std::exchange(plan.settings, {});
  for (VirtualSetting& setting : settings) {
    setting.systems = TRY(find_systems(kSweptSystems));
    for (VirtualSetting& changed : sweep_of(setting)) plan.settings.push_back(std::move(changed));
  }
  return rows_of(TRY(compare_virtually(plan)));
}

Result<ExitCode> compare_in_virtual_time(const CompareOptions& options,
                                         const std::vector<System>& chosen) {
  ProgressLine line;
  VirtualPlan plan{.settings = {},
                   .seeds = options.seeds,
                   .iterations = options.iterations,
                   .cells = options.out.empty() ? fs::path() : fs::path(options.out) / "cells",
                   .made_by = TRY(run_identity(version(), shipped_data())),
                   .folders = shipped_data(),
                   .workers = look_at_machine(".").cores,
                   .on_progress = [&](std::size_t done, std::size_t all) {
                     line.show(fmt::format("{} of {} simulations", done, all));
                   }};
  std::vector<std::string> names = options.scenarios;
  if (names.empty()) names = {"paper-glm", "paper-deepseek"};
  for (const std::string& name : names) plan.settings.push_back(TRY(setting_of(name, chosen)));
  auto scenarios = rows_of(TRY(compare_virtually(plan)));
  std::vector<ComparedScenario> sweep;
  if (options.sweep) sweep = TRY(run_sweep(plan));
  line.show({});
  ComparisonInfo info{.kind = "virtual",
                      .title = fmt::format("in virtual time, {} seeds", options.seeds)};
  return print(options, info, scenarios, sweep);
}

class CompareCommand : public CliCommand {
 public:
  explicit CompareCommand(CLI::App& app) {
    auto option = [&](const char* name, auto& into, const char* help, const char* type) {
      return app.add_option(name, into, help)->type_name(type)->allow_extra_args(false);
    };
    add_flag(app, "--virtual", options_.is_virtual,
             "in virtual time, instead of on this host's devices");
    option("--scenario", options_.scenarios,
           "a file, or the name of one that ships; may be repeated (default: paper-glm, "
           "paper-deepseek)",
           "NAME");
    option("--systems", options_.systems,
           "cudaforge, alphaevolve, kernelagent, dispatch2, specgen, specgen-split, -noharvest, "
           "-noforks,\n-nostop, -off, cudaforge+spec, alphaevolve+spec, kernelagent+spec",
           "LIST");
    option("--tasks", options_.tasks,
           "on devices: folders, or names of tasks that ship (default "
           "softmax,matmul_square,hinge_loss)",
           "LIST");
    option("--pace", options_.pace,
           "on devices: of the author; generation should take 90 % of an iteration\n"
           "(default 600,tokens=12000: traces as long as large models', ten times as fast)",
           "P");
    option("--devices", options_.devices, "on devices: auto (default), or a list such as cuda:0",
           "LIST");
    add_flag(app, "--over-http", options_.over_http,
             "on devices: call the author through its HTTP server");
    option("--seeds", options_.seeds, "of each system (default 5 in virtual time, 3 on devices)",
           "N")
        ->check(CLI::Range(1, 10'000));
    option("--iterations", options_.iterations,
           "of each workflow (default: the scenario's in virtual time, 6 on devices)", "N")
        ->check(CLI::Range(1, 1'000'000));
    add_flag(app, "--sweep", options_.sweep,
             "change one thing at a time, to see where speculation does not pay");
    option("--html", options_.html, "draw all results on one page", "FILE");
    option("--out", options_.out,
           "a folder for finished runs: the same command continues from there\n"
           "(default: none in virtual time, specgen-comparison on devices)",
           "DIR");
    add_flag(app, "--json", options_.json, "print one JSON document (schema specgen.comparison)");
  }

  Result<void> validate() override {
    TRY(check_options(options_));
    if (options_.seeds == 0) options_.seeds = options_.is_virtual ? kVirtualSeeds : kRealSeeds;
    if (!options_.is_virtual && options_.systems.empty()) options_.systems = kRealSystems;
    systems_ = options_.systems.empty() ? systems() : TRY(find_systems(options_.systems));
    return {};
  }

  Result<ExitCode> run(const CommandContext&) override {
    return options_.is_virtual ? compare_in_virtual_time(options_, systems_)
                               : compare_on_devices(options_, systems_);
  }

 private:
  CompareOptions options_;
  std::vector<System> systems_;
};

}  // namespace

AddedCommand add_compare_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "compare",
      "compare systems: the peers' workflows, specgen, and specgen with parts of it off\n\n"
      "All on the same tasks, seeds and budgets, with as many concurrent generations. In virtual\n"
      "time scenarios describe the model and the devices; on real devices only the model is\n"
      "synthetic, and a run takes minutes: finished runs are kept in --out, and the same command\n"
      "continues from there. docs/lab/compare.md has the details.");
  return {app, std::make_unique<CompareCommand>(*app)};
}

}  // namespace specgen
