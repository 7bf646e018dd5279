#pragma once
// What a host offers, as JSON: the parts that `specgen doctor --json` and `specgen-node --check
// --json` share. docs/json.md describes them.

#include <span>

#include "base/json.h"
#include "cli/host_checks.h"
#include "evaluate/host/host.h"

namespace specgen {

Json ready_json(const HostReport& host);
Json sandbox_json(const SandboxFeatures& box);
Json gpus_json(const CudaReport& cuda);
Json machine_json(const Machine& machine);
Json runs_json(const Machine& machine);
Json components_json(
    const HostReport& host);  // every library, program and package, as it was found
Json checks_json(std::span<const Check> checks);

}  // namespace specgen
