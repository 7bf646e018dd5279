// `specgen-node`: the lean agent on an evaluation host. Links neither SQLite nor libcurl, nor any command of specgen.

#include "cli/diagnosis.h"
#include "cli/node/node_options.h"
#include "cli/node/serve_node.h"
#include "cli/program.h"
#include "cli/terminal.h"

namespace specgen {
namespace {

Result<ExitCode> check_node(const CheckNode& request) {
  HostProbe probe;
  probe.time_limit = request.time_limit;
  Diagnosis diagnosis;
  diagnosis.host = TRY(inspect_host(std::move(probe)));
  diagnosis.checks = checks_of(diagnosis.host, Bytes{});
  std::erase_if(diagnosis.checks, [](const Check& check) {
    return check.id == "machine.disk";  // a node keeps no runs
  });
  TRY(print_output(request.json ? node_check_json(diagnosis)
                                : doctor_text(diagnosis, output_has_colour())));
  return doctor_exit_code(diagnosis.host);
}

Result<ExitCode> run_node(std::span<const std::string> arguments) {
  NodeRequest request = TRY(parse_node(arguments));
  if (auto* check = std::get_if<CheckNode>(&request)) return check_node(*check);
  if (auto* help = std::get_if<PrintNodeHelp>(&request)) {
    TRY(print_output(help->text));
    return ExitCode::done;
  }
  return serve_node(std::get<ServeNode>(request));
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  return specgen::run_program(argc, argv, specgen::run_node);
}
