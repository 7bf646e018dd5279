#include "cli/optimize.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <ctime>

#include "base/file.h"
#include "base/text.h"
#include "cli/optimize_model.h"
#include "cli/optimize_tasks.h"
#include "cli/progress_output.h"
#include "cli/prompts.h"
#include "cli/tasks.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "cli/workbench.h"
#include "compare/prefix_study.h"
#include "evaluate/node/device_list.h"
#include "journal/sqlite_storage.h"
#include "report/html_report.h"
#include "report/progress_display.h"
#include "report/summary.h"
#include "schedule/node_process.h"
#include "search/workflows.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

// "specgen-runs/2026-11-15-131502-softmax"
fs::path new_folder(const Optimize& command, const Settings& settings, WallTime now) {
  if (!command.out.empty()) return command.out;
  std::time_t when = now.ms_since_1970 / 1000;
  std::string name = fs::path(command.tasks.front()).stem().string();
  return settings.runs_folder / fmt::format("{:%Y-%m-%d-%H%M%S}-{}", fmt::gmtime(when), name);
}

std::vector<fs::path> folders_of(std::string_view kind) {
  std::vector<fs::path> folders{fs::path(kind)};
  if (fs::path shipped = shipped_folder(kind); !shipped.empty()) folders.push_back(shipped);
  return folders;
}

// All that a resumed run needs to know of how it was begun; budgets are in the journal too, and may be raised.
Json manifest_of(const Optimize& command, const RunBegun& begun, const EvaluationPool& pool) {
  boost::json::array tasks, devices;
  for (const RunTask& task : begun.tasks) {
    tasks.push_back({{"name", task.name}, {"where", task.where}, {"backend", task.backend}});
  }
  for (const PoolDevice& device : pool.devices()) {
    if (!device.is_lane) {
      devices.push_back({{"id", device.name}, {"model", device.model}, {"host", device.host}});
    }
  }
  boost::json::object shapes;
  for (const auto& [name, value] : command.shapes) shapes[name] = value;
  return {{"schema", "specgen.manifest"},
          {"schema_version", 1},
          {"specgen_version", version()},
          {"tasks", std::move(tasks)},
          {"devices", std::move(devices)},
          {"devices_asked_for", command.devices},
          {"model", command.model},
          {"workflow", command.workflow},
          {"criterion", command.criterion},
          {"speculate", command.speculate},
          {"harvest", command.harvest},
          {"forks", command.forks},
          {"tune", command.tune},
          {"pool", command.pool},
          {"shadow", command.shadow},
          {"study_step", command.study_step},
          {"study_control", command.study_control},
          {"thinkers", command.thinkers},
          {"max_tokens", command.max_tokens},
          {"shapes", std::move(shapes)},
          {"model_new", command.model_new},
          {"seed", static_cast<std::int64_t>(command.seed)},
          {"budgets",
           {{"iterations", *command.iterations},
            {"wall_s", seconds(*command.time_budget)},
            {"tokens", *command.token_budget},
            {"dollars", *command.cost_budget}}}};
}

// The command that began the run, but for what this one says of budgets and output.
Result<Optimize> command_of(const Optimize& resuming) {
  fs::path file = fs::path(resuming.resume) / "manifest.json";
  auto text = read_file(file);
  if (!text) return fail(ErrorCode::no_run, file.string() + " cannot be read");
  Json manifest = TRY(parse_json(*text));
  Optimize command;
  if (const Json* tasks = member_at(manifest, "tasks"); tasks && tasks->is_array()) {
    for (const Json& task : tasks->get_array()) command.tasks.push_back(text_at(task, "where"));
  }
  if (command.tasks.empty()) return fail(ErrorCode::no_run, file.string() + " names no task");
  command.model = text_at(manifest, "model");
  command.workflow = text_at(manifest, "workflow");
  command.criterion = text_at(manifest, "criterion");
  command.speculate = flag_at(manifest, "speculate");
  command.harvest = flag_at(manifest, "harvest");
  command.forks = flag_at(manifest, "forks");
  command.tune = flag_at(manifest, "tune");
  command.pool = text_at(manifest, "pool");
  command.shadow = number_at(manifest, "shadow");
  command.study_step = number_at(manifest, "study_step");
  command.study_control = flag_at(manifest, "study_control");
  command.thinkers = int_at(manifest, "thinkers");
  command.max_tokens = int_at(manifest, "max_tokens");
  command.devices = text_at(manifest, "devices_asked_for");
  command.model_new = flag_at(manifest, "model_new");
  command.seed = static_cast<std::uint64_t>(int_at(manifest, "seed"));
  if (const Json* shapes = member_at(manifest, "shapes"); shapes && shapes->is_object()) {
    for (const auto& [name, value] : shapes->get_object()) {
      if (value.is_int64()) command.shapes[std::string(name)] = value.get_int64();
    }
  }
  const Json* budgets = member_at(manifest, "budgets");
  const Json none;
  const Json& known = budgets ? *budgets : none;
  command.iterations = resuming.iterations.value_or(int_at(known, "iterations"));
  command.time_budget = resuming.time_budget.value_or(from_seconds(number_at(known, "wall_s")));
  command.token_budget = resuming.token_budget.value_or(int_at(known, "tokens"));
  command.cost_budget = resuming.cost_budget.value_or(number_at(known, "dollars"));
  command.out = resuming.resume;
  command.resume = resuming.resume;
  command.record = resuming.record;
  command.json = resuming.json;
  return command;
}

constexpr Duration kRedrawEvery = std::chrono::milliseconds(100);
constexpr std::int64_t kUsualIterations = 10;

// One run from its folder to its report. Everything that must outlive the search is a member.
class Optimization {
 public:
  Optimization(Workbench& bench, Optimize command, const Settings& settings)
      : bench_(bench),
        command_(std::move(command)),
        settings_(settings),
        display_(error_output(), error_terminal) {}

  Task<Result<ExitCode>> perform(Interrupts& interrupts, int& signal);

 private:
  Task<Result<void>> prepare();
  Task<Result<void>> open_pool();
  void prepare_devices();
  Task<Result<void>> open_search();
  Task<Result<void>> search(Interrupts& interrupts, int& signal);
  Task<Result<void>> tell();
  Result<void> tell_study(const RunState& state);
  Task<void> draw();
  Task<int> stop_when_asked(Interrupts& interrupts);
  Task<void> keep_best(std::uint32_t task, std::string source);

  Workbench& bench_;
  Optimize command_;
  const Settings& settings_;
  fs::path folder_;
  CallLedger ledger_;
  std::unique_ptr<SqliteStorage> storage_;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<NodeProcess> node_;
  std::unique_ptr<EvaluationPool> pool_;
  std::unique_ptr<Triggers> triggers_;
  std::optional<PromptBook> prompts_;
  PreparedTasks tasks_;
  std::string start_source_;
  ProgressTracker tracker_;
  ProgressDisplay display_;
  std::unique_ptr<Run> run_;
  std::optional<RunState> final_state_;
  TaskGroup keeping_{bench_.loop};  // best files that are being written
};

Task<Result<ExitCode>> Optimization::perform(Interrupts& interrupts, int& signal) {
  auto prepared = co_await race(prepare(), interrupts.next());
  if (auto* asked_to_end = prepared.second()) {  // nothing was judged yet that could be lost
    signal = *asked_to_end;
    co_return ExitCode::failed;
  }
  CO_TRY(std::move(*prepared.first()));
  CO_TRY(co_await search(interrupts, signal));
  if (signal != 0 && !final_state_) co_return ExitCode::failed;  // asked twice: at once
  CO_TRY(co_await tell());
  bool any = std::ranges::any_of(final_state_->tasks,
                                 [](const TaskState& task) { return task.best.value != 0; });
  co_return any ? ExitCode::done : ExitCode::failed;
}

Task<Result<void>> Optimization::prepare() {
  // What the user may have got wrong comes first: nothing is written for a run that cannot begin.
  (void)CO_TRY(parse_criterion(command_.criterion));
  if (!command_.start.empty()) start_source_ = CO_TRY(read_file(command_.start, MiB(1)));
  prompts_ = CO_TRY(load_prompts());
  CO_TRY(co_await open_pool());
  tasks_ = CO_TRY(prepare_tasks(command_.tasks, command_.model_new, pool_->devices()));
  prepare_devices();
  (void)CO_TRY(find_workflow(
      command_.workflow,
      {.prompts = *prompts_, .briefs = tasks_.briefs, .evolution = settings_.evolution}));
  model_ = CO_TRY(co_await RunModel::open(bench_, command_, settings_, ledger_));
  if (command_.speculate && command_.forks) {
    TriggerSet set = CO_TRY(find_trigger_set(folders_of("triggers"), model_->model().info().name));
    triggers_ = CO_TRY(Triggers::compile(std::move(set)));
  }
  co_return co_await open_search();
}

Task<Result<void>> Optimization::open_pool() {
  std::vector<std::string> devices = CO_TRY(parse_device_list(command_.devices));
  NodeCommand command{.devices = std::move(devices),
                      .flags = {"--python", settings_.python, "--ncu", settings_.ncu}};
  if (!settings_.compiler.empty()) {
    command.flags.insert(command.flags.end(), {"--compiler", settings_.compiler});
  }
  if (!command_.kv.empty()) command.flags.insert(command.flags.end(), {"--kv", command_.kv});
  if (!command_.kv_listen.empty()) {
    command.flags.insert(command.flags.end(), {"--kv-listen", command_.kv_listen});
  }
  node_ = std::make_unique<NodeProcess>(bench_.loop, bench_.processes, std::move(command));
  PoolSettings settings;
  settings.scheduler.form = CO_TRY(parse_pool_form(command_.pool));
  pool_ = std::make_unique<EvaluationPool>(bench_.loop, std::vector<Host*>{node_.get()}, settings);
  co_return co_await pool_->open();
}

// The first kernel is there a second after the model has begun to think; it should not wait for references.
void Optimization::prepare_devices() {
  if (command_.model_new) return;  // judged in a process of its own, which has nothing to prepare
  std::vector<TaskToCome> to_come;
  for (const RunTask& task : tasks_.tasks) {
    to_come.push_back({.task = task.where,
                       .backend = task.backend,
                       .shapes = {command_.shapes.begin(), command_.shapes.end()}});
  }
  pool_->prepare(to_come);
}

Task<Result<void>> Optimization::open_search() {
  folder_ = new_folder(command_, settings_, bench_.loop.wall_now());
  if (command_.resume.empty() && fs::exists(folder_ / "journal.db")) {
    co_return fail(ErrorCode::bad_usage, fmt::format("there is a run in {}", folder_.string()),
                   "go on with it by --resume, or choose another folder with --out");
  }
  storage_ = CO_TRY(co_await SqliteStorage::open(bench_.loop, bench_.driver, folder_));
  RunBegun begin{.tasks = tasks_.tasks,
                 .workflow = command_.workflow,
                 .criterion = command_.criterion,
                 .model = model_->model().info().name,
                 .speculate = command_.speculate,
                 .seed = command_.seed,
                 .budgets = {.wall = *command_.time_budget,
                             .tokens = *command_.token_budget,
                             .dollars = *command_.cost_budget,
                             .iterations = *command_.iterations}};
  for (const PoolDevice& device : pool_->devices()) {
    bool is_used = std::ranges::any_of(tasks_.tasks, [&](const RunTask& task) {
      return device.name.starts_with(task.backend + ":");
    });
    if (!device.is_lane && is_used) begin.devices.push_back(device.name);
  }
  CO_TRY(write_file_durably(folder_ / "manifest.json",
                            pretty_json(manifest_of(command_, begin, *pool_))));
  RunPlan plan{
      .begin = std::move(begin),
      .workflow = CO_TRY(find_workflow(
          command_.workflow,
          {.prompts = *prompts_, .briefs = tasks_.briefs, .evolution = settings_.evolution})),
      .speculation = {.harvest = command_.speculate && command_.harvest,
                      .forks = command_.speculate && command_.forks,
                      .early_stop = command_.speculate && command_.criterion != "never",
                      .gate = settings_.gate,
                      .shadow = command_.shadow,
                      .study_step = command_.study_step,
                      .study_control = command_.study_control},
      .max_tokens = command_.max_tokens,
      .shapes = {command_.shapes.begin(), command_.shapes.end()},
      .model_new = command_.model_new,
      .thinkers = static_cast<int>(command_.thinkers),
      .tune = command_.tune};
  plan.start_source = start_source_;
  run_ = CO_TRY(co_await Run::open(
      {.loop = bench_.loop,
       .storage = *storage_,
       .model = model_->model(),
       .ledger = ledger_,
       .pool = *pool_,
       .triggers = triggers_.get()},
      std::move(plan),
      {.on_change = [this](const RunState& state,
                           Duration now) { display_.show(tracker_.update(state, now)); },
       .on_best = [this](
                      std::uint32_t task,
                      const KnownKernel& best) { keeping_.spawn(keep_best(task, best.source)); }}));
  co_return Result<void>();
}

// The best so far is a usable file at every moment; the loop does not wait for the disk.
Task<void> Optimization::keep_best(std::uint32_t task, std::string source) {
  fs::path file = best_file({}, tasks_.tasks[task], command_.model_new);
  auto written = co_await storage_->write_file(std::move(file), std::move(source));
  if (!written) print_error(written.error().summary());
}

Task<Result<void>> Optimization::search(Interrupts& interrupts, int& signal) {
  Result<RunEnd> end = fail(ErrorCode::bad_usage, "");
  {
    TaskGroup showing(bench_.loop);
    showing.spawn(draw());
    auto outcome = co_await race(run_->go(), stop_when_asked(interrupts));
    if (auto* twice = outcome.second()) {
      signal = *twice;
      co_return Result<void>();
    }
    end = std::move(*outcome.first());
  }
  display_.finish();
  CO_TRY(co_await model_->close());
  final_state_ = run_->state();
  run_.reset();
  CO_TRY(co_await keeping_.join());
  CO_TRY(co_await storage_->close());
  CO_TRY(std::move(end));
  co_return Result<void>();
}

// Once: in good order. Twice: the signal.
Task<int> Optimization::stop_when_asked(Interrupts& interrupts) {
  co_await interrupts.next();
  print_error("stopping; again to stop at once");
  run_->stop("interrupted");
  co_return co_await interrupts.next();
}

Task<void> Optimization::draw() {
  while (true) {
    display_.draw(tracker_.view(run_->state(), pool_->load(), run_->elapsed()));
    co_await bench_.loop.sleep(kRedrawEvery);
  }
}

Task<Result<void>> Optimization::tell() {
  RunData data = CO_TRY(read_run(folder_));
  // A former process may have been killed between a verdict and its file.
  for (std::uint32_t task = 0; task < data.state.tasks.size(); ++task) {
    auto winner = winner_of(data, data.state.run.tasks[task].name);
    fs::path file = best_file(folder_, tasks_.tasks[task], command_.model_new);
    if (!winner || read_file(file) == winner->source) continue;
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    CO_TRY(write_file_durably(file, winner->source));
  }
  fs::path report = folder_ / "report.html";
  CO_TRY(write_file_durably(report, html_report(data)));
  if (command_.study_step > 0) co_return tell_study(data.state);
  SpeculationLedger ledger = speculation_ledger(data.state);
  if (!command_.json) {
    std::string text = summary_text(data, ledger, output_has_colour());
    co_return print_output(fmt::format("{}report: {}\n", text, report.string()));
  }
  Json document{{"schema", "specgen.optimize"}, {"schema_version", 1}};
  add_summary(document, data, ledger);
  co_return print_output(pretty_json(document));
}

Result<void> Optimization::tell_study(const RunState& state) {
  PrefixStudy study = prefix_study(state);
  fs::path picture = folder_ / "prefixes.svg";
  TRY(write_file_durably(picture, study_picture(study)));
  if (!command_.json) {
    return print_output(fmt::format("\n{}picture: {}\n", study_text(study), picture.string()));
  }
  Json document{{"schema", "specgen.probe"}, {"schema_version", 1}, {"run", folder_.string()}};
  for (auto& [name, value] : to_json(study).as_object()) document.as_object()[name] = value;
  return print_output(pretty_json(document));
}

}  // namespace

Result<ExitCode> optimize(const Optimize& asked, const Settings& settings) {
  Optimize command = asked.resume.empty() ? asked : TRY(command_of(asked));
  if (!command.iterations) command.iterations = kUsualIterations;
  if (!command.time_budget) command.time_budget = Duration();
  if (!command.token_budget) command.token_budget = 0;
  if (!command.cost_budget) command.cost_budget = 0;
  int signal = 0;
  Result<ExitCode> code = ExitCode::failed;
  {
    Workbench bench;
    auto interrupts = TRY(Interrupts::open(bench.loop, bench.driver));
    Optimization optimization(bench, std::move(command), settings);
    code = bench.loop.run(optimization.perform(*interrupts, signal));
  }
  if (signal != 0) end_by(signal);
  return code;
}

}  // namespace specgen
