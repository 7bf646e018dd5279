#include "cli/model_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/json.h"
#include "cli/command_loop.h"
#include "cli/version.h"
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
  struct Mark {
    std::string_view sign, style;
  };
  Mark mark = finding == ProbeFinding::good      ? Mark{"✓", "32"}
              : finding == ProbeFinding::limited ? Mark{"!", "33"}
              : finding == ProbeFinding::bad     ? Mark{"✗", "31"}
                                                 : Mark{"?", "2"};
  if (!colour) return std::string(mark.sign);
  return fmt::format("\x1b[{}m{}\x1b[0m", mark.style, mark.sign);
}

std::string verdict(const ProbeReport& report) {
  if (!report.usable()) return "not usable: see the lines marked ✗";
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

Task<Result<ModelDiagnosis>> diagnose(CommandLoop& command, const std::string& spec,
                                      const Settings& settings, Duration limit) {
  CallLedger ledger;
  ModelServices services(command.loop, command.driver, ledger);
  auto model = CO_TRY(open_model(services, spec, settings.models));
  ModelDiagnosis diagnosis;
  diagnosis.spec = spec;
  auto* served = dynamic_cast<OpenAiModel*>(model.get());
  if (!served) co_return diagnosis;
  diagnosis.profile = served->wire().profile->name;
  diagnosis.url = served->wire().url.base;
  diagnosis.report = co_await probe(command.loop, *served, limit);
  diagnosis.cost = ledger.totals();
  co_return diagnosis;
}

}  // namespace

std::string model_check_text(const ModelDiagnosis& diagnosis, bool colour) {
  const ProbeReport& report = diagnosis.report;
  if (diagnosis.in_process()) {
    return fmt::format("{} runs in this process: there is no server to probe\n\nusable\n",
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
  text += fmt::format("\n{}\nprobe cost: {}\n", verdict(report), costs(diagnosis.cost));
  return text;
}

std::string model_check_json(const ModelDiagnosis& diagnosis) {
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

Result<ModelDiagnosis> inspect_model(const std::string& spec, const Settings& settings,
                                     Duration limit) {
  return run_on_loop<ModelDiagnosis>(
      [&](CommandLoop& command) { return diagnose(command, spec, settings, limit); });
}

}  // namespace specgen
