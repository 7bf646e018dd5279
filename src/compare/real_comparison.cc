#include "compare/real_comparison.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "generate/author/author_options.h"
#include "generate/author/author_service.h"
#include "generate/http/http_server.h"
#include "report/run_data.h"
#include "schedule/scheduler.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr double kMinGenerationShare = 0.5;
constexpr Duration kMaxRun = std::chrono::hours(24);
constexpr std::size_t kMaxErrorOutput = 600;  // its end

struct Setting {
  std::string name;   // "slack 0.33"
  std::string title;  // for people
  std::string pace;   // of the author, with its slack
};

std::vector<Setting> settings_of(const RealPlan& plan) {
  std::string tasks;
  for (const std::string& task : plan.tasks) {
    tasks += (tasks.empty() ? "" : ", ") + fs::path(task).filename().string();
  }
  std::string title = fmt::format("{}, author at pace {}{}", tasks, plan.pace,
                                  plan.over_http ? " behind its server" : "");
  if (plan.slacks.empty()) return {{.name = "real", .title = title, .pace = plan.pace}};
  std::vector<Setting> settings;
  for (double slack : plan.slacks) {
    settings.push_back({.name = fmt::format("real, slack {:.2g}", slack),
                        .title = fmt::format("{}, {:.0f} % of a trace after the last decision",
                                             title, 100 * slack),
                        .pace = fmt::format("{},slack={}", plan.pace, slack)});
  }
  return settings;
}

// What an existing run must have been made with to be part of this comparison, besides made_by.
std::string settings_text(const RealPlan& plan, const Setting& setting) {
  return fmt::format("{}\npace {}\n{} iterations\n{}\n{}\n", join(plan.tasks, " "), setting.pace,
                     plan.iterations, plan.devices, plan.over_http ? "http" : "in process");
}

class RealComparison {
 public:
  RealComparison(RealParts parts, RealPlan plan) : parts_(parts), plan_(std::move(plan)) {}

  Task<Result<std::vector<ComparedSetting>>> compare() {
    std::vector<Setting> settings = settings_of(plan_);
    std::vector<ComparedSetting> compared;
    std::size_t all = settings.size() * plan_.seeds * plan_.systems.size(), done = 0;
    for (const Setting& setting : settings) {
      fs::path folder = CO_TRY(folder_for(setting));
      ComparedSetting runs{.name = setting.name, .title = setting.title, .runs = {}};
      for (std::uint64_t seed = 1; seed <= plan_.seeds; ++seed) {
        for (const System& system : plan_.systems) {
          if (plan_.on_progress) {
            plan_.on_progress(done, all,
                              fmt::format("{}: {}, seed {}", setting.name, system.name, seed));
          }
          fs::path run = folder / fmt::format("{}-{}", system.name, seed);
          runs.runs.push_back({.system = system.name,
                               .seed = seed,
                               .figures = CO_TRY(co_await figures(system, setting, seed, run))});
          CO_TRY(check_generation_share(system, runs.runs.back().figures));
          ++done;
        }
      }
      compared.push_back(std::move(runs));
    }
    co_return compared;
  }

 private:
  Result<fs::path> folder_for(const Setting& setting) {
    std::string name = setting.name;
    for (char& c : name) c = c == ' ' || c == ',' ? '-' : c;
    fs::path folder = plan_.folder / name, file = folder / "comparison.txt";
    std::error_code trouble;
    fs::create_directories(folder, trouble);
    if (trouble) {
      return fail(ErrorCode::system_call,
                  fmt::format("{}: {}", folder.string(), trouble.message()));
    }
    std::string settings = settings_text(plan_, setting);
    std::string now = fmt::format("{}{}\n", settings, plan_.made_by);
    auto before = read_file(file);
    if (before && *before != now) {
      bool is_asked_for = before->starts_with(settings);
      return fail(ErrorCode::bad_usage,
                  fmt::format("{} has a comparison {}", folder.string(),
                              is_asked_for ? "by another specgen, or with other prompts or triggers"
                                           : "of other tasks, iterations or pace"),
                  "choose another folder with --out, or delete this one to run it all again");
    }
    TRY(write_file_durably(file, now));
    return folder;
  }

  Task<Result<RunFigures>> figures(const System& system, const Setting& setting, std::uint64_t seed,
                                   fs::path run) {
    RunState state = CO_TRY(state_of(run));
    if (state.ended.empty() || state.ended == "interrupted") {
      CO_TRY(co_await optimize(system, setting, seed, run));
      state = CO_TRY(state_of(run));
    }
    if (state.ended != "iterations") {
      co_return fail(ErrorCode::harness_failed,
                     fmt::format("{} ended by: {}", run.string(),
                                 state.ended.empty() ? "no entry" : state.ended),
                     "remove its folder to run it again");
    }
    co_return figures_of(state, state.run.devices.size(),
                         static_cast<std::size_t>(system.generations));
  }

  // Empty if it has not begun.
  static Result<RunState> state_of(const fs::path& run) {
    if (!fs::exists(run / "journal.db")) return RunState();
    RunData data = TRY(read_run(run, RunDepth::entries));
    return std::move(data.state);
  }

  Task<Result<void>> optimize(const System& system, const Setting& setting, std::uint64_t seed,
                              fs::path run) {
    std::unique_ptr<AuthorService> author;
    std::unique_ptr<HttpServer> server;
    TaskGroup serving(parts_.loop);  // destroyed before the server
    std::string model = "author:" + setting.pace;
    if (plan_.over_http) {
      AuthorOptions options = CO_TRY(author_at_pace(setting.pace));
      options.seed = seed;
      author = std::make_unique<AuthorService>(parts_.loop, options);
      server = CO_TRY(HttpServer::listen(parts_.loop, parts_.driver, "127.0.0.1:0",
                                         std::bind_front(&AuthorService::handle, author.get())));
      serving.spawn(server->serve());
      model = fmt::format("openai:specgen-author@http://127.0.0.1:{}/v1", server->port());
    }
    std::vector<std::string> arguments{plan_.program.string(), "optimize"};
    bool has_begun = fs::exists(run / "manifest.json");
    if (has_begun && !plan_.over_http) {  // the new server has another address
      arguments.insert(arguments.end(), {"--resume", run.string()});
    } else {
      std::error_code ignored;
      fs::remove_all(run, ignored);
      std::vector<std::string> own = arguments_of(system, plan_, seed);
      arguments.insert(arguments.end(), own.begin(), own.end());
      arguments.insert(arguments.end(), {"--model", model, "--out", run.string()});
    }
    Finished finished = CO_TRY(co_await parts_.processes.run(
        {.argv = std::move(arguments), .output_limit = MiB(16), .time_limit = kMaxRun}));
    // 1: no kernel is correct, which is a result.
    if (finished.exit.code == 0 || finished.exit.code == 1) co_return Result<void>();
    std::string output = finished.error_output;
    if (output.size() > kMaxErrorOutput) output.erase(0, output.size() - kMaxErrorOutput);
    co_return fail(ErrorCode::harness_failed,
                   fmt::format("{}: {}: {}", run.string(), to_string(finished.exit), trim(output)));
  }

  Result<void> check_generation_share(const System& system, const RunFigures& figures) const {
    if (system.speculates() || figures.shares.empty()) return {};
    double share = quantile_of(figures.shares, 0.5);
    if (share >= kMinGenerationShare) return {};
    return fail(
        ErrorCode::bad_usage,
        fmt::format("at pace {} generation takes {:.0f} % of an iteration of {}: the comparison "
                    "would measure evaluation",
                    plan_.pace, 100 * share, system.name),
        "choose a slower --pace, at which it takes 90 %");
  }

  RealParts parts_;
  RealPlan plan_;
};

}  // namespace

std::vector<std::string> arguments_of(const System& system, const RealPlan& plan,
                                      std::uint64_t seed) {
  std::vector<std::string> arguments = plan.tasks;
  arguments.insert(arguments.end(),
                   {"--workflow", system.workflow, "--pool", std::string(to_string(system.pool)),
                    "--iterations", std::to_string(plan.iterations * system.generations),
                    "--thinkers", std::to_string(system.max_streams), "--seed",
                    std::to_string(seed), "--devices", plan.devices});
  if (!system.speculates()) {
    arguments.emplace_back("--no-speculate");
    return arguments;
  }
  if (!system.harvest) arguments.emplace_back("--no-harvest");
  if (!system.forks) arguments.emplace_back("--no-forks");
  if (!system.early_stop) arguments.insert(arguments.end(), {"--criterion", "never"});
  return arguments;
}

Task<Result<std::vector<ComparedSetting>>> compare_for_real(RealParts parts, RealPlan plan) {
  RealComparison comparison(parts, std::move(plan));
  co_return co_await comparison.compare();
}

}  // namespace specgen
