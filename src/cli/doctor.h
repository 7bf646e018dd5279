#pragma once
// `specgen doctor`: what this host can do, what it lacks, and the step that mends it. The report is
// made by evaluate/host.h; here it becomes text for a person or JSON for a program. Exit code 0 if
// at least one backend could do its job, else 3.

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/host_checks.h"
#include "evaluate/host/host.h"

namespace specgen {

struct Diagnosis {
  HostReport host;
  std::vector<Check> checks;
  std::string settings;  // the file that was read; empty if there was none
};

// Short, aligned, group by group, the verdict last.
std::string doctor_text(const Diagnosis& diagnosis, bool colour);

// Schema specgen.doctor, version 1.
std::string doctor_json(const Diagnosis& diagnosis);

ExitCode doctor_exit_code(const HostReport& host);

// The same for `specgen-node --check`: the part of a host that a controller asks for. Schema
// specgen.node-check, version 1.
std::string node_check_json(const Diagnosis& diagnosis);

}  // namespace specgen
