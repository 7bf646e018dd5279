// `specgen verify RUN`: the winner judged again from scratch, by the judge of `specgen eval` with a fresh secret: other
// hidden cases, other data. Exit code 0 only if it is ok and not slower than the run says, beyond noise.

#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/eval.h"
#include "cli/load_run.h"
#include "cli/runs.h"
#include "cli/terminal.h"

namespace specgen {
namespace {

// Intervals tell of the noise within one evaluation; between two lie days, clocks and neighbours.
constexpr double kBetweenEvaluations = 0.05;

std::string interval_text(const Speedup& speedup) {
  return fmt::format("{:.3g}x ({:.3g} to {:.3g})", speedup.median, speedup.low, speedup.high);
}

std::map<std::string, std::int64_t> shapes_of(const RunData& run) {
  std::map<std::string, std::int64_t> shapes;
  auto manifest = parse_json(run.manifest);
  const Json* given = manifest ? member_at(*manifest, "shapes") : nullptr;
  if (!given || !given->is_object()) return shapes;
  for (const auto& [name, value] : given->get_object()) {
    if (value.is_int64()) shapes[std::string(name)] = value.get_int64();
  }
  return shapes;
}

}  // namespace

Result<ExitCode> verify_run(const VerifyRun& command, const Settings& settings) {
  RunData run = TRY(load_run(command.run));
  Winner winner = TRY(winner_of(run, command.task));
  const RunTask& task = run.state.run.tasks[winner.task];
  EvaluateCandidate again;
  again.task = task.where;
  again.candidate = to_string(winner.id);
  again.device = !command.device.empty()  ? command.device
                 : !winner.device.empty() ? winner.device
                                          : task.backend + ":0";
  for (const auto& [name, value] : winner.tunables) again.tunables[name] = value;
  again.shapes = shapes_of(run);
  again.model_new = winner.is_python();
  Json evaluation = TRY(judge_source(again, winner.source, settings));

  bool ok = text_at(evaluation, "verdict") == "ok";
  Speedup now;
  if (const Json* speedup = member_at(evaluation, "speedup"); speedup && speedup->is_object()) {
    now = {number_at(*speedup, "median"), number_at(*speedup, "low"), number_at(*speedup, "high")};
  }
  bool confirmed = ok && now.high >= winner.speedup.low * (1 - kBetweenEvaluations);
  if (command.json) {
    TRY(print_output(pretty_json({{"schema", "specgen.verification"},
                                  {"schema_version", 1},
                                  {"run", run.folder.string()},
                                  {"task", task.name},
                                  {"candidate", to_string(winner.id)},
                                  {"device", again.device},
                                  {"recorded", to_json(winner.speedup)},
                                  {"verdict", text_at(evaluation, "verdict")},
                                  {"again", ok ? to_json(now) : Json(nullptr)},
                                  {"confirmed", confirmed}})));
  } else {
    std::string text = evaluation_text(evaluation, output_has_colour());
    text += fmt::format("\nrecorded {}, now {}: {}\n", interval_text(winner.speedup),
                        ok ? interval_text(now) : text_at(evaluation, "verdict"),
                        confirmed ? "confirmed"
                        : ok      ? "slower than recorded, beyond noise"
                                  : "not confirmed");
    TRY(print_output(text));
  }
  return confirmed ? ExitCode::done : ExitCode::failed;
}

}  // namespace specgen
