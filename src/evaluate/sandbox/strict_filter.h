#pragma once
// The last wall around a CPU candidate: once its code, its data and its threads are in place, the
// process needs nothing of the kernel but to wait and to end. Any other call kills it (SIGSYS).
// For every thread of the process, at once and for good; results leave through shared memory.

#include "base/error.h"

namespace specgen {

Result<void> allow_only_computing();

}  // namespace specgen
