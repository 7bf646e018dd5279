#pragma once
// What a host says, taken apart and checked. A host is not trusted to be sane: whatever has the wrong type, a
// verdict that does not exist, a speedup that is no number, is an error (bad_message), never a guess.

#include "base/json.h"
#include "schedule/host_client.h"

namespace specgen {

// The `hello` that a link begins with.
Result<HostFacts> facts_in(const Json& hello);

// The `result` of a job of that stage.
Result<StageOutcome> outcome_in(Stage stage, Json result);

// The `error` of a job.
Result<Error> error_in(const Json& answer);

}  // namespace specgen
