#pragma once
// What a set of cores can do at best: the physics that no honest timing beats. Blocks for about half
// a second with all the cores busy; call it when nothing else is being measured, and keep the
// result. All numbers err on the high side: the best of several passes, loads and stores both
// counted, so that a floor drawn from them never accuses an honest candidate.

#include <cstddef>
#include <vector>

#include "evaluate/judge/device.h"

namespace specgen {

// One thread on each of `cores` (all that the caller may use, if there are none). The caller's own
// affinity is as before afterwards.
Ceilings measure_cpu_ceilings(const std::vector<int>& cores);

// Of these cores together: the L1 data cache of one, and all last-level caches that any of them
// shares. 0 if the system does not tell.
struct CacheSizes {
  std::size_t first_level = 0;
  std::size_t last_level = 0;
};
CacheSizes cache_sizes(const std::vector<int>& cores);

}  // namespace specgen
