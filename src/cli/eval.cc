#include "cli/eval.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/workbench.h"
#include "evaluate/candidate/directives.h"
#include "evaluate/judge/evaluation.h"
#include "evaluate/judge/judge_process.h"

namespace specgen {
namespace {

// What a judge refuses anyway is not read in whole.
constexpr Bytes kMaxRead = MiB(2);

Result<std::string> read_candidate(const std::string& path) {
  std::error_code trouble;
  if (std::filesystem::is_directory(path, trouble)) {
    return fail(ErrorCode::file_not_found, path + " is a folder", "name the candidate's file");
  }
  auto text = read_file(path, kMaxRead);
  if (!text && text.error().code == ErrorCode::file_too_large) {
    return std::string(kMaxRead.count, ' ');  // its size is its fault, told as a verdict
  }
  return text;
}

JudgeSetup setup_for(const EvaluateCandidate& command, const Settings& settings) {
  JudgeSetup setup{.device = command.device};
  if (!settings.compiler.empty()) setup.compiler = settings.compiler;
  setup.python = settings.python;
  setup.ncu = settings.ncu;
  setup.require = command.require_sandbox;
  setup.sandbox_at_most = command.sandbox_at_most;
  setup.allow_unsandboxed = command.allow_unsandboxed;
  setup.counters = command.counters;
  setup.secret = command.secret;
  setup.call_limit = command.call_limit;
  setup.include_folders = command.include_folders;
  return setup;
}

Json job_of(const EvaluateCandidate& command, std::string source) {
  boost::json::object tunables, shapes;
  for (const auto& [name, value] : command.tunables) tunables[name] = value;
  for (const auto& [name, value] : command.shapes) shapes[name] = value;
  return {{"task", command.task},           {"source", std::move(source)},
          {"candidate", command.candidate}, {"tunables", std::move(tunables)},
          {"shapes", std::move(shapes)},    {"model_new", command.model_new}};
}

Task<Result<Json>> ask_judge(Workbench& bench, JudgeSetup setup, Json job, Duration limit,
                             ProgressLine& line) {
  auto judge = CO_TRY(JudgeProcess::start(bench.loop, bench.driver, bench.processes,
                                          {"/proc/self/exe"}, std::move(setup)));
  co_return co_await judge->ask("evaluate", std::move(job), limit,
                                [&line](std::string_view text) { line.show(text); });
}

// What is no UTF-8 cannot travel as JSON: it is refused here, in the words of the gate behind it.
std::optional<Rejection> refused_at_once(const std::string& source) {
  if (as_utf8(source) == source) return std::nullopt;
  auto directives = parse_directives(source);
  if (directives) return std::nullopt;
  return directives.error();
}

// A failure of ours is a verdict too: the candidate was not judged.
bool is_harness_error(const Error& error) {
  return error.code == ErrorCode::harness_failed || error.code == ErrorCode::bad_message ||
         error.code == ErrorCode::device_failed;
}

Json unjudged(const EvaluateCandidate& command, Verdict verdict, Evidence evidence,
              std::string trust) {
  Evaluation evaluation{.task = command.task,
                        .device = command.device,
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

Result<Json> judge_source(const EvaluateCandidate& command, std::string source,
                          const Settings& settings) {
  Result<Json> answer = fail(ErrorCode::harness_failed, "");
  if (auto refused = refused_at_once(source)) {
    answer = unjudged(command, Verdict::rejected, {.text = refused->reason, .line = refused->line},
                      "full");
  } else {
    ProgressLine line;
    answer = perform_at_workbench<Json>([&](Workbench& bench) {
      return ask_judge(bench, setup_for(command, settings), job_of(command, std::move(source)),
                       command.time_limit, line);
    });
  }
  if (!answer && is_harness_error(answer.error())) {
    answer = unjudged(command, Verdict::harness_error, {.text = answer.error().summary()},
                      "none: the evaluation itself failed");
  }
  return answer;
}

Result<ExitCode> evaluate_candidate(const EvaluateCandidate& command, const Settings& settings) {
  std::string source = TRY(read_candidate(command.candidate));
  Json evaluation = TRY(judge_source(command, std::move(source), settings));
  TRY(print_output(command.json ? pretty_json(document(evaluation))
                                : evaluation_text(evaluation, output_has_colour())));
  return text_at(evaluation, "verdict") == "ok" ? ExitCode::done : ExitCode::failed;
}

}  // namespace specgen
