// `specgen`: the command.

#include <string>
#include <vector>

#include "cli/author.h"
#include "cli/command_line.h"
#include "cli/compare.h"
#include "cli/doctor.h"
#include "cli/doctor_model.h"
#include "cli/eval.h"
#include "cli/kv.h"
#include "cli/kv_gateway.h"
#include "cli/look.h"
#include "cli/optimize.h"
#include "cli/program.h"
#include "cli/record.h"
#include "cli/replay.h"
#include "cli/runs.h"
#include "cli/settings.h"
#include "cli/simulate.h"
#include "cli/tasks.h"
#include "cli/terminal.h"
#include "cli/triggers.h"

namespace specgen {
namespace {

Result<ExitCode> doctor(const CheckHost& check, const Invocation& invocation) {
  Settings settings = TRY(load_settings(invocation.config));
  HostProbe probe = host_probe(settings);
  probe.time_limit = check.time_limit;
  Diagnosis diagnosis;
  diagnosis.host = TRY(look_at_host(std::move(probe)));
  diagnosis.checks = checks_of(diagnosis.host, settings.min_free);
  diagnosis.settings = settings.source.string();
  TRY(print_output(check.json ? doctor_json(diagnosis)
                              : doctor_text(diagnosis, output_has_colour())));
  return doctor_exit_code(diagnosis.host);
}

Result<ExitCode> do_command(const Invocation& invocation) {
  if (auto* check = std::get_if<CheckHost>(&invocation.what)) return doctor(*check, invocation);
  if (auto* fresh = std::get_if<NewTask>(&invocation.what)) return write_new_task(*fresh);
  if (auto* author = std::get_if<ServeAuthor>(&invocation.what)) return serve_author(*author);
  if (auto* record = std::get_if<RecordCassette>(&invocation.what)) return record_cassette(*record);
  if (auto* replay = std::get_if<ReplayCassette>(&invocation.what)) return replay_cassette(*replay);
  if (auto* triggers = std::get_if<ShowTriggers>(&invocation.what)) return show_triggers(*triggers);
  if (auto* report = std::get_if<ReportRun>(&invocation.what)) return report_run(*report);
  if (auto* kv = std::get_if<ConfigureKv>(&invocation.what)) return configure_kv(*kv);
  if (auto* kv = std::get_if<ShowKvStats>(&invocation.what)) return show_kv_stats(*kv);
  if (auto* kv = std::get_if<ServeKvGateway>(&invocation.what)) return serve_kv_gateway(*kv);
  if (auto* comparison = std::get_if<CompareSystems>(&invocation.what)) {
    return compare_systems(*comparison);
  }
  if (auto* simulation = std::get_if<SimulateScenario>(&invocation.what)) {
    return simulate(*simulation);
  }
  Settings settings = TRY(load_settings(invocation.config));
  if (auto* run = std::get_if<Optimize>(&invocation.what)) return optimize(*run, settings);
  if (auto* list = std::get_if<ListRuns>(&invocation.what)) return list_runs(*list, settings);
  if (auto* out = std::get_if<ExportRun>(&invocation.what)) return export_run(*out, settings);
  if (auto* verify = std::get_if<VerifyRun>(&invocation.what)) return verify_run(*verify, settings);
  if (auto* model = std::get_if<ProbeModel>(&invocation.what)) {
    return probe_model(*model, settings);
  }
  if (auto* eval = std::get_if<EvaluateCandidate>(&invocation.what)) {
    return evaluate_candidate(*eval, settings);
  }
  return list_or_check_tasks(std::get<ListTasks>(invocation.what), settings);
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  return specgen::run_program(argc, argv, specgen::parse_specgen, specgen::do_command);
}
