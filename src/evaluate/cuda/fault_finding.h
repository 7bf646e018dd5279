#pragma once
// From what an executor answered to a verdict on the candidate, in words that help its author and
// tell nothing of a hidden case.

#include "evaluate/candidate/directives.h"
#include "evaluate/cuda/executor_protocol.h"
#include "evaluate/verdict.h"

namespace specgen {

// An illegal address is out_of_bounds here; whether it was a write to an input takes a second look.
Finding finding_of(const ExecutorAnswer& answer, const Directives& directives);

}  // namespace specgen
