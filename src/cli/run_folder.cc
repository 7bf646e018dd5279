#include "cli/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <ctime>

#include "base/file.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/version.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxSameSecond = 1000;  // runs that start within one second

Result<void> make_folders(const fs::path& folder) {
  std::error_code trouble;
  fs::create_directories(folder, trouble);
  if (trouble) return fail_errno(folder.string(), trouble.value());
  return {};
}

// Options that are part of what a run is. The text is what they were set to; a flag without a value is "it" or "".
struct FixedOption {
  std::string_view flag;
  std::string (*value)(const SearchOptions& options);
};
std::string as_flag(bool is_given) {
  return is_given ? "it" : "";
}
std::string shapes_text(const SearchOptions& options) {
  std::vector<std::string> shapes;
  for (const auto& [name, value] : options.shapes)
    shapes.push_back(fmt::format("{}={}", name, value));
  return join(shapes, ",");
}
const std::array kFixedOptions{
    FixedOption{"--workflow", [](const SearchOptions& o) { return o.workflow; }},
    FixedOption{"--criterion", [](const SearchOptions& o) { return o.criterion; }},
    FixedOption{"--no-speculate", [](const SearchOptions& o) { return as_flag(!o.speculate); }},
    FixedOption{"--no-harvest", [](const SearchOptions& o) { return as_flag(!o.harvest); }},
    FixedOption{"--no-forks", [](const SearchOptions& o) { return as_flag(!o.forks); }},
    FixedOption{"--no-tune", [](const SearchOptions& o) { return as_flag(!o.tune); }},
    FixedOption{"--shadow", [](const SearchOptions& o) { return fmt::format("{}", o.shadow); }},
    FixedOption{"--start", [](const SearchOptions& o) { return o.start; }},
    FixedOption{"--seed", [](const SearchOptions& o) { return fmt::format("{}", o.seed); }},
    FixedOption{"--shape", shapes_text},
    FixedOption{"--model-new", [](const SearchOptions& o) { return as_flag(o.model_new); }},
    FixedOption{"--every",
                [](const SearchOptions& o) { return fmt::format("{:g}", 100 * o.study_step); }},
    FixedOption{"--no-control", [](const SearchOptions& o) { return as_flag(!o.study_control); }},
};

Result<void> check_fixed(const SearchOptions& started, const SearchOptions& given) {
  for (const FixedOption& option : kFixedOptions) {
    if (!given.given.contains(std::string(option.flag))) continue;
    std::string before = option.value(started);
    if (option.value(given) == before) continue;
    return fail(ErrorCode::bad_usage,
                fmt::format("{}: the run in {} was started with{}", option.flag, given.resume,
                            before.empty() ? "out it" : " " + before),
                "leave the flag out to continue that run, or start a new run without --resume");
  }
  if (given.given.contains("--out") && fs::path(given.out) != fs::path(given.resume)) {
    return fail(ErrorCode::bad_usage, "--out: a resumed run stays in its folder",
                "leave --out out, or start a new run without --resume");
  }
  return {};
}

}  // namespace

Result<fs::path> make_run_folder(const SearchOptions& options, const fs::path& runs, WallTime now) {
  if (!options.out.empty()) {
    if (fs::exists(fs::path(options.out) / "journal.db")) {
      return fail(ErrorCode::bad_usage, fmt::format("there is a run in {}", options.out),
                  "continue it with --resume, or choose another folder with --out");
    }
    TRY(make_folders(options.out));
    return fs::path(options.out);
  }
  TRY(make_folders(runs));
  std::time_t when = now.ms_since_1970 / 1000;
  std::string name = fmt::format("{:%Y-%m-%d-%H%M%S}-{}", fmt::gmtime(when),
                                 fs::path(options.tasks.front()).stem().string());
  for (int number = 1; number <= kMaxSameSecond; ++number) {
    fs::path folder = runs / (number == 1 ? name : fmt::format("{}-{}", name, number));
    std::error_code trouble;
    if (fs::create_directory(folder, trouble)) return folder;  // false: another run has the name
    if (trouble) return fail_errno(folder.string(), trouble.value());
  }
  return fail(ErrorCode::bad_usage, fmt::format("{}/{} is taken", runs.string(), name),
              "name a folder with --out");
}

Json manifest_of(const SearchOptions& options, std::span<const RunTask> run_tasks,
                 std::span<const PoolDevice> pool_devices) {
  boost::json::array tasks, devices;
  for (const RunTask& task : run_tasks) {
    tasks.push_back({{"name", task.name}, {"where", task.where}, {"backend", task.backend}});
  }
  for (const PoolDevice& device : pool_devices) {
    if (!device.is_compile_slot) {
      devices.push_back({{"id", device.name}, {"model", device.model}, {"host", device.host}});
    }
  }
  boost::json::object shapes;
  for (const auto& [name, value] : options.shapes) shapes[name] = value;
  return {{"schema", "specgen.manifest"},
          {"schema_version", 1},
          {"specgen_version", version()},
          {"tasks", std::move(tasks)},
          {"devices", std::move(devices)},
          {"devices_asked_for", options.devices},
          {"model", options.model},
          {"workflow", options.workflow},
          {"criterion", options.criterion},
          {"speculate", options.speculate},
          {"harvest", options.harvest},
          {"forks", options.forks},
          {"tune", options.tune},
          {"pool", options.pool},
          {"kv", options.kv},
          {"kv_listen", options.kv_listen},
          {"shadow", options.shadow},
          {"study_step", options.study_step},
          {"study_control", options.study_control},
          {"thinkers", options.thinkers},
          {"max_tokens", options.max_tokens},
          {"start", options.start},
          {"shapes", std::move(shapes)},
          {"model_new", options.model_new},
          {"seed", static_cast<std::int64_t>(options.seed)},
          {"budgets",
           {{"iterations", *options.iterations},
            {"wall_s", seconds(*options.time_budget)},
            {"tokens", *options.token_budget},
            {"dollars", *options.cost_budget}}}};
}

std::map<std::string, std::int64_t> shapes_in(const Json& manifest) {
  std::map<std::string, std::int64_t> shapes;
  const Json* recorded = member_at(manifest, "shapes");
  if (!recorded || !recorded->is_object()) return shapes;
  for (const auto& [name, value] : recorded->get_object()) {
    if (value.is_int64()) shapes[std::string(name)] = value.get_int64();
  }
  return shapes;
}

Result<StartedRun> read_manifest(const fs::path& folder) {
  fs::path file = folder / "manifest.json";
  auto text = read_file(file);
  if (!text) return fail(ErrorCode::no_run, file.string() + " cannot be read");
  Json manifest = TRY(parse_json(*text));
  StartedRun run;
  SearchOptions& options = run.options;
  if (const Json* tasks = member_at(manifest, "tasks"); tasks && tasks->is_array()) {
    for (const Json& task : tasks->get_array()) {
      options.tasks.push_back(text_at(task, "where"));
      run.backends.push_back(text_at(task, "backend"));
    }
  }
  if (options.tasks.empty()) return fail(ErrorCode::no_run, file.string() + " names no task");
  options.model = text_at(manifest, "model");
  options.workflow = text_at(manifest, "workflow");
  options.criterion = text_at(manifest, "criterion");
  options.speculate = flag_at(manifest, "speculate");
  options.harvest = flag_at(manifest, "harvest");
  options.forks = flag_at(manifest, "forks");
  options.tune = flag_at(manifest, "tune");
  options.pool = text_at(manifest, "pool");
  options.kv = text_at(manifest, "kv");
  options.kv_listen = text_at(manifest, "kv_listen");
  options.shadow = number_at(manifest, "shadow");
  options.study_step = number_at(manifest, "study_step");
  options.study_control = flag_at(manifest, "study_control");
  options.thinkers = int_at(manifest, "thinkers");
  options.max_tokens = int_at(manifest, "max_tokens");
  options.start = text_at(manifest, "start");
  options.devices = text_at(manifest, "devices_asked_for");
  options.model_new = flag_at(manifest, "model_new");
  options.seed = static_cast<std::uint64_t>(int_at(manifest, "seed"));
  options.shapes = shapes_in(manifest);
  const Json* budgets = member_at(manifest, "budgets");
  const Json none;
  const Json& recorded = budgets ? *budgets : none;
  options.iterations = int_at(recorded, "iterations");
  options.time_budget = from_seconds(number_at(recorded, "wall_s"));
  options.token_budget = int_at(recorded, "tokens");
  options.cost_budget = number_at(recorded, "dollars");
  return run;
}

Result<SearchOptions> resumed_options(const SearchOptions& started, const SearchOptions& given) {
  TRY(check_fixed(started, given));
  SearchOptions options = started;
  auto take = [&](const char* flag, auto SearchOptions::* member) {
    if (given.given.contains(flag)) options.*member = given.*member;
  };
  take("--model", &SearchOptions::model);
  take("--devices", &SearchOptions::devices);
  take("--pool", &SearchOptions::pool);
  take("--kv", &SearchOptions::kv);
  take("--kv-listen", &SearchOptions::kv_listen);
  take("--thinkers", &SearchOptions::thinkers);
  take("--max-tokens", &SearchOptions::max_tokens);
  if (given.iterations) options.iterations = given.iterations;
  if (given.time_budget) options.time_budget = given.time_budget;
  if (given.token_budget) options.token_budget = given.token_budget;
  if (given.cost_budget) options.cost_budget = given.cost_budget;
  options.record = given.record;
  options.json = given.json;
  options.resume = given.resume;
  options.out = given.resume;
  return options;
}

}  // namespace specgen
