#pragma once
// Turns an executor's answer into a verdict on the candidate, worded to help its author without
// revealing a hidden case.

#include "evaluate/candidate/directives.h"
#include "evaluate/cuda/executor_protocol.h"
#include "evaluate/verdict.h"

namespace specgen {

// An illegal address is out_of_bounds here; CudaTestRig checks whether it was a write to an input.
Finding finding_of(const ExecutorAnswer& answer, const Directives& directives);

}  // namespace specgen
