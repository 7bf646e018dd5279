#pragma once
// Hardware counters over a few calls of a candidate, for the profile: medians, or why there are
// none. Pure functions; CpuTestRig::count() makes the calls.

#include <span>

#include "base/error.h"
#include "base/json.h"
#include "runtime/perf_counters.h"

namespace specgen {

// The median of each event over the calls in which it was counted. There must be at least one call.
CounterValues median_of(std::span<const CounterValues> calls);

// {"counters": {...} or null, "counters_note": why there are none, or empty}: members of the
// profile's facts.
Json counters_json(const Result<CounterValues>& counted);

}  // namespace specgen
