// `specgen`: the command.

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/doctor.h"
#include "cli/look.h"
#include "cli/program.h"
#include "cli/settings.h"
#include "cli/terminal.h"

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

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  return specgen::run_program(argc, argv, specgen::parse_specgen, specgen::doctor);
}
