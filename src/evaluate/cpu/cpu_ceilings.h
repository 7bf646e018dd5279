#pragma once
// Measures the peak rates of a set of cores, which no correct timing can exceed. Blocks for about
// half a second with all the cores busy: call it when nothing else is measured, and keep the
// result. All numbers err on the high side (the best of several passes, loads and stores both
// counted), so that a lower bound derived from them never rejects a correct candidate.

#include <cstddef>
#include <vector>

#include "evaluate/judge/device.h"

namespace specgen {

// One thread on each of `cores` (if empty: on all that the caller may use). Restores the caller's
// affinity.
Ceilings measure_cpu_ceilings(const std::vector<int>& cores);

// Of these cores together: the L1 data cache of one core, and all last-level caches that any of
// them uses. 0 if unknown.
struct CacheSizes {
  std::size_t first_level = 0;
  std::size_t last_level = 0;
};
CacheSizes cache_sizes(const std::vector<int>& cores);

}  // namespace specgen
