// `specgen-node`: the lean agent on an evaluation host. Links neither SQLite nor libcurl.

#include "cli/command_line.h"
#include "cli/doctor.h"
#include "cli/look.h"
#include "cli/program.h"
#include "cli/serve.h"
#include "cli/terminal.h"

namespace specgen {
namespace {

Result<ExitCode> check_host(const CheckHost& check) {
  HostProbe probe;
  probe.time_limit = check.time_limit;
  Diagnosis diagnosis;
  diagnosis.host = TRY(look_at_host(std::move(probe)));
  diagnosis.checks = checks_of(diagnosis.host, Bytes{});
  std::erase_if(diagnosis.checks, [](const Check& check) {
    return check.id == "machine.disk";  // a node keeps no runs
  });
  TRY(print_output(check.json ? node_check_json(diagnosis)
                              : doctor_text(diagnosis, output_has_colour())));
  return doctor_exit_code(diagnosis.host);
}

Result<ExitCode> do_command(const Invocation& invocation) {
  if (auto* check = std::get_if<CheckHost>(&invocation.what)) return check_host(*check);
  return serve_node(std::get<ServeNode>(invocation.what));
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  return specgen::run_program(argc, argv, specgen::parse_node, specgen::do_command);
}
