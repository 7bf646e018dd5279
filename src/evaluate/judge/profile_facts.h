#pragma once
// From timings and ceilings to feedback: how near to the fastest possible, which limit binds, and what that means for
// the next attempt.

#include <string>
#include <vector>

#include "base/json.h"
#include "evaluate/judge/device.h"
#include "evaluate/judge/evaluation.h"

namespace specgen {

// The shortest time that a case can take on a device.
struct Floor {
  double seconds = 0;
  std::string limit;  // memory, cache, compute or launch
};
// `sets`: how many sets of tensors take turns (Device::sets_for), which decides what stays in caches.
Floor floor_of(const Case& at, std::size_t sets, const Ceilings& ceilings);

double mean_peak_fraction(const std::vector<CaseResult>& cases);  // weighted, geometric

// The profile of docs/reference/json.md: limits, achieved rates, the device's facts, and `text` for a model.
Json profile_json(const std::vector<CaseResult>& cases, const Ceilings& ceilings, const Json& facts,
                  Backend backend);

}  // namespace specgen
