#include "cli/run_search.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/run_folder.h"
#include "cli/run_model.h"
#include "cli/run_tasks.h"
#include "cli/search_checks.h"
#include "cli/shipped_files.h"
#include "cli/terminal.h"
#include "compare/prefix_study.h"
#include "compare/study_iteration.h"
#include "evaluate/node/device_list.h"
#include "journal/sqlite_storage.h"
#include "report/html_report.h"
#include "report/progress.h"
#include "report/progress_display.h"
#include "report/summary.h"
#include "schedule/node_process.h"
#include "search/workflows.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Duration kRedrawEvery = std::chrono::milliseconds(100);
constexpr std::int64_t kDefaultIterations = 10;

// Nothing if standard error is not a terminal that can move its cursor.
std::optional<TerminalSize> error_terminal() {
  if (::isatty(STDERR_FILENO) != 1) return std::nullopt;
  if (environment_variable("TERM").value_or("dumb") == "dumb") return std::nullopt;
  TerminalSize size;
  winsize window{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    size.columns = window.ws_col;
    size.rows = window.ws_row;
  }
  size.colour = environment_variable("NO_COLOR").value_or("").empty();
  return size;
}

std::vector<std::string> node_flags(const SearchOptions& options, const Settings& settings) {
  std::vector<std::string> flags{"--python", settings.python, "--ncu", settings.ncu};
  auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) flags.insert(flags.end(), {flag, value});
  };
  add("--compiler", settings.compiler);
  add("--kv", options.kv);
  add("--kv-listen", options.kv_listen);
  return flags;
}

// One search from its folder to its report. Members outlive the run.
class Search {
 public:
  Search(CommandLoop& command, SearchOptions options, std::vector<std::string> backends,
         const Settings& settings)
      : command_(command),
        options_(std::move(options)),
        backends_(std::move(backends)),
        settings_(settings),
        display_(write_error, error_terminal) {}

  // A second interrupt ends it at once: `signal` is then the signal.
  Task<Result<ExitCode>> perform(Interrupts& interrupts, int& signal);

 private:
  Task<Result<void>> prepare();
  Task<Result<void>> open_pool();
  Result<void> check_backends() const;
  void prepare_devices();
  Result<Workflow> workflow() const;
  Task<Result<void>> open_run();
  RunBegun begin_entry() const;
  RunPlan plan() const;
  Task<Result<void>> run(Interrupts& interrupts, int& signal);
  Task<Result<void>> report();
  Result<void> print_study(const RunState& state);
  Task<void> draw();
  Task<int> stop_on_interrupt(Interrupts& interrupts);
  Task<void> keep_best(std::uint32_t task, std::string source);

  CommandLoop& command_;
  SearchOptions options_;
  std::vector<std::string> backends_;  // of a resumed run's tasks
  const Settings& settings_;
  fs::path folder_;
  CallLedger ledger_;
  std::unique_ptr<SqliteStorage> storage_;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<NodeProcess> node_;
  std::unique_ptr<EvaluationPool> pool_;
  std::unique_ptr<Triggers> triggers_;
  std::optional<PromptStore> prompts_;
  PreparedTasks tasks_;
  std::string start_source_;
  ProgressTracker tracker_;
  ProgressDisplay display_;
  std::unique_ptr<Run> run_;
  std::optional<RunState> final_state_;
  TaskGroup writing_best_{command_.loop};
};

Task<Result<ExitCode>> Search::perform(Interrupts& interrupts, int& signal) {
  auto prepared = co_await race(prepare(), interrupts.next());
  if (auto* interrupt = prepared.second()) {  // no work is lost yet
    signal = *interrupt;
    co_return ExitCode::failed;
  }
  CO_TRY(std::move(*prepared.first()));
  CO_TRY(co_await run(interrupts, signal));
  if (signal != 0) co_return ExitCode::failed;
  CO_TRY(co_await report());
  if (final_state_->ended == kInterrupted) {
    print_error(fmt::format("interrupted; to continue: specgen {} --resume {}",
                            options_.study_step > 0 ? "probe" : "optimize", folder_.string()));
    co_return kInterruptedCode;
  }
  bool has_best = std::ranges::any_of(final_state_->tasks,
                                      [](const TaskState& task) { return task.best.value != 0; });
  co_return has_best ? ExitCode::done : ExitCode::failed;
}

// The user's mistakes come first: nothing is written for a run that cannot start.
Task<Result<void>> Search::prepare() {
  (void)CO_TRY(parse_criterion(options_.criterion));
  if (!options_.start.empty() && options_.resume.empty()) {
    start_source_ = CO_TRY(read_file(options_.start, MiB(1)));
  }
  prompts_ = CO_TRY(load_prompts());
  for (const std::string& task : options_.tasks) {
    if (!task.ends_with(".py")) continue;
    CO_TRY(co_await describe_python_task(command_, task, options_.shapes, settings_));
  }
  CO_TRY(co_await open_pool());
  tasks_ = CO_TRY(prepare_tasks(options_.tasks, options_.model_new, pool_->devices()));
  CO_TRY(check_backends());
  CO_TRY(check_author(options_, tasks_.tasks));
  prepare_devices();
  (void)CO_TRY(workflow());
  model_ = CO_TRY(co_await RunModel::open(command_, options_, settings_, ledger_));
  if (options_.speculate && options_.forks) {
    TriggerSet set = CO_TRY(find_trigger_set(trigger_folders(), model_->model().info().name));
    triggers_ = CO_TRY(Triggers::compile(std::move(set)));
  }
  co_return co_await open_run();
}

Task<Result<void>> Search::open_pool() {
  node_ = std::make_unique<NodeProcess>(
      command_.loop, command_.processes,
      NodeCommand{.devices = CO_TRY(parse_device_list(options_.devices)),
                  .flags = node_flags(options_, settings_)});
  PoolSettings settings;
  settings.scheduler.form = CO_TRY(parse_pool_form(options_.pool));
  pool_ =
      std::make_unique<EvaluationPool>(command_.loop, std::vector<Host*>{node_.get()}, settings);
  co_return co_await pool_->open();
}

// Speedups of two backends cannot be compared, and a kernel of one does not compile for the other.
Result<void> Search::check_backends() const {
  for (std::size_t i = 0; i < std::min(backends_.size(), tasks_.tasks.size()); ++i) {
    const RunTask& task = tasks_.tasks[i];
    if (task.backend == backends_[i]) continue;
    return fail(ErrorCode::bad_usage,
                fmt::format("--devices: the kernels of '{}' in this run are for {}, not for {}",
                            task.name, backends_[i], task.backend),
                fmt::format("resume with a {} device only, such as --devices {}:0", backends_[i],
                            backends_[i]));
  }
  return {};
}

// The first draft can come a second after the reasoning starts; it should not wait for references.
void Search::prepare_devices() {
  if (options_.model_new) return;  // each is judged in a process of its own
  std::vector<UpcomingTask> to_come;
  for (const RunTask& task : tasks_.tasks) {
    to_come.push_back({.task = task.where,
                       .backend = task.backend,
                       .shapes = {options_.shapes.begin(), options_.shapes.end()}});
  }
  pool_->prepare(to_come);
}

Result<Workflow> Search::workflow() const {
  return find_workflow(
      options_.workflow,
      {.prompts = *prompts_, .briefs = tasks_.briefs, .evolution = settings_.evolution});
}

RunBegun Search::begin_entry() const {
  RunBegun begin{.tasks = tasks_.tasks,
                 .workflow = options_.workflow,
                 .criterion = options_.criterion,
                 .model = model_->model().info().name,
                 .speculate = options_.speculate,
                 .seed = options_.seed,
                 .budgets = {.wall = *options_.time_budget,
                             .tokens = *options_.token_budget,
                             .dollars = *options_.cost_budget,
                             .iterations = *options_.iterations}};
  for (const PoolDevice& device : pool_->devices()) {
    bool is_used = std::ranges::any_of(tasks_.tasks, [&](const RunTask& task) {
      return device.name.starts_with(task.backend + ":");
    });
    if (!device.is_compile_slot && is_used) begin.devices.push_back(device.name);
  }
  return begin;
}

RunPlan Search::plan() const {
  RunPlan plan{.begin = begin_entry(),
               .workflow = {},
               .speculation = settings_.speculation,
               .max_tokens = options_.max_tokens,
               .start_source = start_source_,
               .shapes = {options_.shapes.begin(), options_.shapes.end()},
               .model_new = options_.model_new,
               .max_streams = static_cast<int>(options_.thinkers),
               .tune = options_.tune};
  plan.speculation.harvest = options_.speculate && options_.harvest;
  plan.speculation.forks = options_.speculate && options_.forks;
  plan.speculation.stopping.early_stop = options_.speculate && options_.criterion != "never";
  plan.speculation.shadow = options_.shadow;
  if (options_.study_step > 0) {
    plan.make_iteration =
        study_iterations({.step = options_.study_step, .control = options_.study_control});
  }
  return plan;
}

Task<Result<void>> Search::open_run() {
  folder_ = options_.resume.empty()
                ? CO_TRY(make_run_folder(options_, settings_.runs_folder, command_.loop.wall_now()))
                : fs::path(options_.resume);
  storage_ = CO_TRY(co_await SqliteStorage::open(command_.loop, command_.driver, folder_));
  CO_TRY(write_file_durably(folder_ / "manifest.json",
                            pretty_json(manifest_of(options_, tasks_.tasks, pool_->devices()))));
  RunPlan plan = this->plan();
  plan.workflow = CO_TRY(workflow());
  RunListener listener{
      .on_entry = {},
      .on_change = [this](const RunState& state,
                          Duration now) { display_.show(tracker_.update(state, now)); },
      .on_best =
          [this](std::uint32_t task, const KnownKernel& best) {
            writing_best_.spawn(keep_best(task, best.source));
          }};
  run_ = CO_TRY(co_await Run::open({.loop = command_.loop,
                                    .storage = *storage_,
                                    .model = model_->model(),
                                    .ledger = ledger_,
                                    .pool = *pool_,
                                    .triggers = triggers_.get()},
                                   std::move(plan), std::move(listener)));
  co_return Result<void>();
}

// The best kernel so far is a usable file at every moment; the loop does not wait for the disk.
Task<void> Search::keep_best(std::uint32_t task, std::string source) {
  fs::path file = best_file({}, tasks_.tasks[task], options_.model_new);
  auto written = co_await storage_->write_file(std::move(file), std::move(source));
  if (!written) print_error(written.error().summary());
}

Task<Result<void>> Search::run(Interrupts& interrupts, int& signal) {
  Result<RunEnd> end = fail(ErrorCode::bad_usage, "");
  {
    TaskGroup drawing(command_.loop);
    drawing.spawn(draw());
    auto outcome = co_await race(run_->go(), stop_on_interrupt(interrupts));
    if (auto* second_interrupt = outcome.second()) {
      signal = *second_interrupt;
      co_return Result<void>();
    }
    end = std::move(*outcome.first());
  }
  display_.finish();
  CO_TRY(co_await model_->close());
  final_state_ = run_->state();
  run_.reset();
  CO_TRY(co_await writing_best_.join());
  CO_TRY(co_await storage_->close());
  CO_TRY(std::move(end));
  co_return Result<void>();
}

// The first interrupt stops the run in good order; the second is returned.
Task<int> Search::stop_on_interrupt(Interrupts& interrupts) {
  co_await interrupts.next();
  print_error("stopping; interrupt again to stop at once");
  run_->stop(std::string(kInterrupted));
  co_return co_await interrupts.next();
}

Task<void> Search::draw() {
  while (true) {
    display_.draw(tracker_.view(run_->state(), pool_->load(), run_->elapsed()));
    co_await command_.loop.sleep(kRedrawEvery);
  }
}

Task<Result<void>> Search::report() {
  RunData data = CO_TRY(read_run(folder_));
  // A previous process may have been killed between a verdict and its file.
  for (std::uint32_t task = 0; task < data.state.tasks.size(); ++task) {
    auto winner = winner_of(data, data.state.run.tasks[task].name);
    fs::path file = best_file(folder_, tasks_.tasks[task], options_.model_new);
    if (!winner || read_file(file) == winner->source) continue;
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    CO_TRY(write_file_durably(file, winner->source));
  }
  fs::path page = folder_ / "report.html";
  CO_TRY(write_file_durably(page, html_report(data)));
  if (options_.study_step > 0) co_return print_study(data.state);
  SpeculationLedger ledger = speculation_ledger(data.state);
  if (!options_.json) {
    std::string text = summary_text(data, ledger, output_has_colour());
    co_return print_output(fmt::format("{}report: {}\n{}", text, page.string(),
                                       next_steps(data.state, folder_, options_.model_new)));
  }
  Json document{{"schema", "specgen.optimize"}, {"schema_version", 1}};
  add_summary(document, data, ledger);
  co_return print_output(pretty_json(document));
}

Result<void> Search::print_study(const RunState& state) {
  PrefixStudy study = prefix_study(state);
  fs::path picture = folder_ / "prefixes.svg";
  TRY(write_file_durably(picture, study_picture(study)));
  if (!options_.json) {
    return print_output(fmt::format("\n{}picture: {}\n", study_text(study), picture.string()));
  }
  Json document{{"schema", "specgen.probe"}, {"schema_version", 1}, {"run", folder_.string()}};
  for (auto& [name, value] : to_json(study).as_object()) document.as_object()[name] = value;
  return print_output(pretty_json(document));
}

}  // namespace

std::string next_steps(const RunState& state, const fs::path& folder, bool model_new) {
  std::string kernels, commands;
  for (std::size_t i = 0; i < state.tasks.size(); ++i) {
    const RunTask& task = state.run.tasks[i];
    if (state.tasks[i].best.value == 0) continue;
    kernels += fmt::format("best kernel: {}\n", best_file(folder, task, model_new).string());
    std::string of_task = state.tasks.size() > 1 ? " --task " + task.name : "";
    std::string_view form = model_new || task.where.ends_with(".py") ? "torch"
                            : task.backend == "cuda"                 ? "cuda"
                                                                     : "cpp";
    commands += fmt::format("  specgen verify {0}{1}\n  specgen export {0}{1} --as {2}\n",
                            folder.string(), of_task, form);
  }
  return fmt::format("{}next:\n{}  specgen report {}\n", kernels, commands, folder.string());
}

Result<ExitCode> run_search(const SearchOptions& given, const Settings& settings) {
  SearchOptions options = given;
  std::vector<std::string> backends;
  if (!given.resume.empty()) {
    StartedRun started = TRY(read_manifest(given.resume));
    options = TRY(resumed_options(started.options, given));
    backends = std::move(started.backends);
  }
  options.iterations = options.iterations.value_or(kDefaultIterations);
  options.time_budget = options.time_budget.value_or(Duration());
  options.token_budget = options.token_budget.value_or(0);
  options.cost_budget = options.cost_budget.value_or(0);
  TRY(check_search(options, settings));
  int signal = 0;
  Result<ExitCode> code = ExitCode::failed;
  {
    CommandLoop command;
    auto interrupts = TRY(Interrupts::open(command.loop, command.driver));
    Search search(command, std::move(options), std::move(backends), settings);
    code = command.loop.run(search.perform(*interrupts, signal));
  }
  if (signal != 0) end_by(signal);
  return code;
}

}  // namespace specgen
