#pragma once
// What a host can do, what it lacks and how to fix that, for `specgen doctor` and `specgen-node --check`: the report of
// evaluate/host with its checks, as text for people or JSON for programs (docs/reference/json.md).

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

// Probes this host on a loop of its own, with a progress line. Ctrl-C ends the probes and this process.
Result<HostReport> inspect_host(HostProbe probe);

// Short, aligned, group by group, the verdict last.
std::string doctor_text(const Diagnosis& diagnosis, bool colour);

// Schema specgen.doctor, version 1.
std::string doctor_json(const Diagnosis& diagnosis);

// Schema specgen.node-check, version 1: the part of a host that a controller uses.
std::string node_check_json(const Diagnosis& diagnosis);

// 0 if at least one backend is usable, else 3.
ExitCode doctor_exit_code(const HostReport& host);

}  // namespace specgen
