#include "cli/doctor_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/json.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "cli/workbench.h"
#include "generate/open_model.h"

namespace specgen {
namespace {

std::string_view to_string(ProbeFinding finding) {
  switch (finding) {
    case ProbeFinding::good:
      return "good";
    case ProbeFinding::limited:
      return "limited";
    case ProbeFinding::bad:
      return "bad";
    case ProbeFinding::unknown:
      break;
  }
  return "not_told";
}

std::string mark(ProbeFinding finding, bool colour) {
  struct Look {
    std::string_view sign, style;
  };
  Look look = finding == ProbeFinding::good      ? Look{"✓", "32"}
              : finding == ProbeFinding::limited ? Look{"!", "33"}
              : finding == ProbeFinding::bad     ? Look{"✗", "31"}
                                                 : Look{"?", "2"};
  if (!colour) return std::string(look.sign);
  return fmt::format("\x1b[{}m{}\x1b[0m", look.style, look.sign);
}

std::string verdict(const ProbeReport& report) {
  if (!report.usable()) return "not usable: see what is marked ✗";
  return fmt::format("usable: forks by {}", to_string(*report.traits.fork));
}

std::string costs(const CallLedger::Totals& cost) {
  std::string text = fmt::format("{} calls, {} + {} tokens", cost.calls, cost.prompt_tokens,
                                 cost.completion_tokens);
  if (cost.estimated_tokens > 0)
    text += fmt::format(" ({} of them estimated)", cost.estimated_tokens);
  if (cost.dollars > 0) text += fmt::format(", ${:.4f}", cost.dollars);
  return text;
}

Task<Result<ModelDiagnosis>> diagnose(Workbench& bench, const ProbeModel& command,
                                      const Settings& settings) {
  CallLedger ledger;
  ModelServices services(bench.loop, bench.driver, ledger);
  auto model = CO_TRY(open_model(services, command.spec, settings.models));
  ModelDiagnosis diagnosis;
  diagnosis.spec = command.spec;
  auto* served = dynamic_cast<OpenAiModel*>(model.get());
  if (!served) co_return diagnosis;
  diagnosis.profile = served->wire().profile->name;
  diagnosis.url = served->wire().url.base;
  diagnosis.report = co_await probe(bench.loop, *served, command.time_limit);
  diagnosis.cost = ledger.totals();
  co_return diagnosis;
}

}  // namespace

std::string model_doctor_text(const ModelDiagnosis& diagnosis, bool colour) {
  const ProbeReport& report = diagnosis.report;
  if (diagnosis.in_process()) {
    return fmt::format("{} plays in this process: there is no server to try\n\nusable\n",
                       diagnosis.spec);
  }
  std::string text =
      fmt::format("{} at {} (profile {})\n", diagnosis.spec, diagnosis.url, diagnosis.profile);
  std::size_t width = 0;
  for (const ProbeStep& step : report.steps) width = std::max(width, step.name.size());
  for (const ProbeStep& step : report.steps) {
    text +=
        fmt::format("  {} {:<{}}  {}\n", mark(step.finding, colour), step.name, width, step.detail);
    if (!step.advice.empty()) text += fmt::format("    {:<{}}  fix: {}\n", "", width, step.advice);
    if (step.id != "fork") continue;
    for (const TriedFork& tried : report.forks) {
      if (tried.works) continue;
      text += fmt::format("    {:<{}}  not {}: {}\n", "", width, to_string(tried.strategy),
                          tried.detail);
    }
  }
  text += fmt::format("\n{}\ncost of this look: {}\n", verdict(report), costs(diagnosis.cost));
  return text;
}

std::string model_doctor_json(const ModelDiagnosis& diagnosis) {
  const ProbeReport& report = diagnosis.report;
  boost::json::array steps;
  for (const ProbeStep& step : report.steps) {
    steps.push_back(boost::json::object{{"id", step.id},
                                        {"name", step.name},
                                        {"finding", to_string(step.finding)},
                                        {"detail", step.detail},
                                        {"advice", step.advice}});
  }
  boost::json::array forks;
  for (const TriedFork& tried : report.forks) {
    forks.push_back(boost::json::object{
        {"strategy", to_string(tried.strategy)}, {"works", tried.works}, {"detail", tried.detail}});
  }
  boost::json::object json{
      {"schema", "specgen.model-check"}, {"schema_version", 1}, {"specgen_version", version()},
      {"model", diagnosis.spec},         {"url", nullptr},      {"profile", nullptr},
      {"usable", diagnosis.usable()},    {"fork", nullptr}};
  if (!diagnosis.in_process()) {
    json["url"] = diagnosis.url;
    json["profile"] = diagnosis.profile;
  }
  if (report.traits.fork) json["fork"] = to_string(*report.traits.fork);
  json["first_token_ms"] = seconds(report.first_token) * 1e3;
  json["steps"] = std::move(steps);
  json["forks"] = std::move(forks);
  const CallLedger::Totals& cost = diagnosis.cost;
  json["cost"] = boost::json::object{{"calls", cost.calls},
                                     {"prompt_tokens", cost.prompt_tokens},
                                     {"cached_tokens", cost.cached_tokens},
                                     {"completion_tokens", cost.completion_tokens},
                                     {"estimated_tokens", cost.estimated_tokens},
                                     {"dollars", cost.dollars}};
  return pretty_json(json);
}

Result<ExitCode> probe_model(const ProbeModel& command, const Settings& settings) {
  ModelDiagnosis diagnosis = TRY(perform_at_workbench<ModelDiagnosis>(
      [&](Workbench& bench) { return diagnose(bench, command, settings); }));
  TRY(print_output(command.json ? model_doctor_json(diagnosis)
                                : model_doctor_text(diagnosis, output_has_colour())));
  return diagnosis.usable() ? ExitCode::done : ExitCode::environment;
}

}  // namespace specgen
