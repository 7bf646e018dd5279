#pragma once
// The simplest search there is: ask for a kernel, show the last few and the best, ask again. What worlds run on that are
// about everything else.

#include "search/workflow.h"

namespace specgen {

Task<Result<void>> plain_workflow(Lab& lab);

}  // namespace specgen
