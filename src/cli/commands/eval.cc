#include "cli/commands/eval.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/commands/commands.h"
#include "cli/options.h"
#include "cli/shipped_files.h"
#include "cli/terminal.h"
#include "evaluate/candidate/directives.h"
#include "evaluate/judge/evaluation.h"
#include "evaluate/judge/judge_process.h"

namespace specgen {
namespace {

// More than a judge accepts: a larger file is not read to its end.
constexpr Bytes kMaxRead = MiB(2);

Result<std::string> read_candidate(const std::string& path) {
  std::error_code trouble;
  if (std::filesystem::is_directory(path, trouble)) {
    return fail(ErrorCode::file_not_found, path + " is a folder", "name the candidate's file");
  }
  auto text = read_file(path, kMaxRead);
  if (!text && text.error().code == ErrorCode::file_too_large) {
    return std::string(kMaxRead.count, ' ');  // its size becomes the verdict
  }
  return text;
}

JudgeSetup setup_for(const EvaluationRequest& request, const Settings& settings) {
  JudgeSetup setup{.device = request.device};
  if (!settings.compiler.empty()) setup.compiler = settings.compiler;
  setup.python = settings.python;
  setup.ncu = settings.ncu;
  setup.require = request.require_sandbox;
  setup.sandbox_at_most = request.sandbox_at_most;
  setup.allow_unsandboxed = request.allow_unsandboxed;
  setup.counters = request.counters;
  setup.secret = request.secret;
  setup.call_limit = request.call_limit;
  setup.include_folders = request.include_folders;
  return setup;
}

Json job_of(const EvaluationRequest& request, std::string source) {
  boost::json::object tunables, shapes;
  for (const auto& [name, value] : request.tunables) tunables[name] = value;
  for (const auto& [name, value] : request.shapes) shapes[name] = value;
  return {{"task", request.task},           {"source", std::move(source)},
          {"candidate", request.candidate}, {"tunables", std::move(tunables)},
          {"shapes", std::move(shapes)},    {"model_new", request.model_new}};
}

Task<Result<Json>> ask_judge(CommandLoop& command, JudgeSetup setup, Json job, Duration limit,
                             ProgressLine& line) {
  auto judge = CO_TRY(JudgeProcess::start(command.loop, command.driver, command.processes,
                                          {"/proc/self/exe"}, std::move(setup)));
  co_return co_await judge->ask("evaluate", std::move(job), limit,
                                [&line](std::string_view text) { line.show(text); });
}

// JSON carries UTF-8 only: any other source is rejected here, with the message of the judge's own check.
std::optional<Rejection> rejection_of(const std::string& source) {
  if (as_utf8(source) == source) return std::nullopt;
  auto directives = parse_directives(source);
  if (directives) return std::nullopt;
  return directives.error();
}

// A failure of the harness is a verdict too: the candidate was not judged.
bool is_harness_error(const Error& error) {
  return error.code == ErrorCode::harness_failed || error.code == ErrorCode::bad_message ||
         error.code == ErrorCode::device_failed;
}

Json unjudged(const EvaluationRequest& request, Verdict verdict, Evidence evidence,
              std::string trust) {
  Evaluation evaluation{.task = request.task,
                        .device = request.device,
                        .device_name = {},
                        .sandbox = "unknown",
                        .trust = std::move(trust),
                        .verdict = verdict,
                        .evidence = std::move(evidence)};
  boost::json::object json = to_json(evaluation).get_object();
  json["feedback"] = feedback_text(evaluation);
  return json;
}

boost::json::object document(const Json& evaluation) {
  boost::json::object json{{"schema", "specgen.evaluation"}, {"schema_version", 1}};
  for (const auto& [key, value] : evaluation.get_object()) json[key] = value;
  return json;
}

std::string speedup_text(const Json& speedup) {
  return fmt::format("{:.3g}x ({:.3g} to {:.3g})", number_at(speedup, "median"),
                     number_at(speedup, "low"), number_at(speedup, "high"));
}

}  // namespace

std::string evaluation_text(const Json& evaluation, bool colour) {
  const bool ok = text_at(evaluation, "verdict") == "ok";
  std::string verdict = text_at(evaluation, "verdict");
  if (colour) verdict = fmt::format("\x1b[1;{}m{}\x1b[0m", ok ? 32 : 31, verdict);
  std::string text = fmt::format("{} on {} ({}), sandbox {}\n  {}", text_at(evaluation, "task"),
                                 text_at(evaluation, "device"), text_at(evaluation, "device_name"),
                                 text_at(evaluation, "sandbox"), verdict);
  if (const Json* speedup = member_at(evaluation, "speedup"); speedup && speedup->is_object()) {
    text += fmt::format(", {} the baseline's speed", speedup_text(*speedup));
  }
  if (double ratio = number_at(evaluation, "vendor_ratio"); ratio > 0) {
    text += fmt::format(", {:.3g}x the vendor's", ratio);
  }
  text += '\n';
  std::string reason = text_at(evaluation, "feedback");
  for (std::string_view line : split(reason, '\n')) text += fmt::format("  {}\n", line);
  if (const Json* cases = member_at(evaluation, "cases"); cases && cases->is_array()) {
    for (const Json& one : cases->get_array()) {
      text += fmt::format("    {:<28}", text_at(one, "name"));
      if (const Json* speedup = member_at(one, "speedup"); speedup && speedup->is_object()) {
        text += fmt::format(" {:>10} against {:>10}  {:<26} {:>3.0f} % of {}",
                            format_duration(from_seconds(1e-6 * number_at(one, "candidate_us"))),
                            format_duration(from_seconds(1e-6 * number_at(one, "baseline_us"))),
                            speedup_text(*speedup), 100 * number_at(one, "peak_fraction"),
                            text_at(one, "limit"));
      } else {
        const std::string status = text_at(one, "status");  // evaluations of older runs have none
        text += fmt::format(" {}", status.empty() || status == "passed" ? "checked" : status);
      }
      text += '\n';
    }
  }
  if (const Json* tunables = member_at(evaluation, "tunables");
      tunables && tunables->is_object() && !tunables->get_object().empty()) {
    text += "  tunables:";
    for (const auto& [name, value] : tunables->get_object()) {
      text += fmt::format(" {}={}", std::string_view(name), value.get_int64());
    }
    text += '\n';
  }
  const Json* timings = member_at(evaluation, "timings_ms");
  if (timings) {
    text +=
        fmt::format("  compile {:.0f} ms, validate {:.0f} ms, profile {:.0f} ms, total {:.0f} ms\n",
                    number_at(*timings, "compile"), number_at(*timings, "validate"),
                    number_at(*timings, "profile"), number_at(*timings, "total"));
  }
  return text;
}

Result<Json> judge_source(const EvaluationRequest& request, std::string source,
                          const Settings& settings) {
  Result<Json> answer = fail(ErrorCode::harness_failed, "");
  if (auto refused = rejection_of(source)) {
    answer = unjudged(request, Verdict::rejected, {.text = refused->reason, .line = refused->line},
                      "full");
  } else {
    ProgressLine line;
    answer = run_on_loop<Json>([&](CommandLoop& command) {
      return ask_judge(command, setup_for(request, settings), job_of(request, std::move(source)),
                       request.time_limit, line);
    });
  }
  if (!answer && is_harness_error(answer.error())) {
    answer = unjudged(request, Verdict::harness_error, {.text = answer.error().summary()},
                      "none: the evaluation itself failed");
  }
  return answer;
}

namespace {

class EvalCommand : public CliCommand {
 public:
  explicit EvalCommand(CLI::App& app) {
    app.add_option(
           "TASK", request_.task,
           "a task that ships, a task folder, FOLDER:DTYPE, or a KernelBench-style .py file")
        ->required();
    app.add_option("CANDIDATE", request_.candidate, "the kernel's source")->required();
    app.add_option("--device", request_.device, "where to judge it: cpu:0 (default), cuda:0, ...")
        ->type_name("D");
    add_flag(app, "--json", json_, "print one JSON document (schema specgen.evaluation)");
    add_assignments(app, "--set", request_.tunables, "a tunable's value instead of its default");
    add_assignments(app, "--shape", request_.shapes, "replace a constant of a PyTorch task's file");
    add_flag(app, "--counters", request_.counters,
             "hardware counters of a GPU in the profile (takes seconds)");
    app.add_option("--include", request_.include_folders,
                   "a folder that CUDA candidates may include from, such as CUTLASS")
        ->type_name("DIR")
        ->allow_extra_args(false);
    add_duration(app, "--call-limit", request_.call_limit, "for one call (default 10s)");
    add_duration(app, "--time-limit", request_.time_limit,
                 "for the whole evaluation (default 10m)");
    add_level(app, "--require-sandbox", request_.require_sandbox,
              "fail if the sandbox is weaker than this: L1, L2, L3");
    // For tests of what holds on hosts that allow less, so help does not show it.
    add_level(app, "--sandbox-at-most", request_.sandbox_at_most, "")->group("");
    add_flag(app, "--allow-unsandboxed", request_.allow_unsandboxed,
             "continue without a sandbox; for candidates that you would run yourself");
    app.add_option("--secret", request_.secret,
                   "32 hex digits: the same hidden cases and data again")
        ->type_name("HEX")
        ->check([](const std::string& text) -> std::string {
          auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
          if (text.size() == 32 && std::ranges::all_of(text, is_hex)) return {};
          return "it must be 32 digits of 0-9 and a-f";
        });
  }

  Result<ExitCode> run(const CommandContext& context) override {
    Settings settings = TRY(context.settings());
    request_.task = TRY(find_task(request_.task));
    request_.model_new = request_.candidate.ends_with(".py");
    std::string source = TRY(read_candidate(request_.candidate));
    Json evaluation = TRY(judge_source(request_, std::move(source), settings));
    TRY(print_output(json_ ? pretty_json(document(evaluation))
                           : evaluation_text(evaluation, output_has_colour())));
    return text_at(evaluation, "verdict") == "ok" ? ExitCode::done : ExitCode::failed;
  }

 private:
  static CLI::Option* add_level(CLI::App& app, const char* name, SandboxLevel& into,
                                const char* help) {
    std::vector<std::pair<std::string, SandboxLevel>> levels;
    for (SandboxLevel level : {SandboxLevel::lsm, SandboxLevel::namespaces, SandboxLevel::full}) {
      levels.emplace_back(to_string(level), level);
    }
    return app
        .add_option_function<std::string>(
            name,
            [&into, levels, name](const std::string& text) {
              auto level =
                  std::ranges::find(levels, text, &std::pair<std::string, SandboxLevel>::first);
              if (level == levels.end()) {
                throw CLI::ValidationError(
                    name,
                    fmt::format("'{}' is none of L1, L2, L3; `specgen doctor` shows what this "
                                "host allows",
                                text));
              }
              into = level->second;
            },
            help)
        ->type_name("LEVEL");
  }

  EvaluationRequest request_;
  bool json_ = false;
};

}  // namespace

AddedCommand add_eval_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("eval",
                             "judge one candidate: verdict, speedup with interval, profile\n\n"
                             "Exit code 0 only if the verdict is ok, 1 for any other verdict, 2 if "
                             "the task is wrong, 3 if\n"
                             "this host cannot judge it.");
  return {app, std::make_unique<EvalCommand>(*app)};
}

}  // namespace specgen
