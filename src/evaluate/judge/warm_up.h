#pragma once
// Decides when rigs and memory are prepared for the next candidate (ReadyPool, device.h): during compilations and
// between jobs, never while something is timed, and what disturbs other processes' timings only while the device is
// locked. What cannot be prepared now is made when it is needed.

#include <cstddef>
#include <functional>
#include <string_view>

#include "evaluate/judge/device.h"
#include "evaluate/judge/device_lease.h"

namespace specgen {

// A candidate is validated in one process, confirmed in a second and described in a third.
inline constexpr std::size_t kRigsPerCandidate = 3;

class WarmUp {
 public:
  // Both outlive it.
  WarmUp(Loop& loop, ReadyPool& pool, const DeviceLease& lease)
      : loop_(loop), pool_(pool), lease_(lease) {}

  void count_candidate() { ++candidates_; }  // one was judged

  // Run this beside a compiler; it may be cancelled at any step.
  Task<void> while_compiling();
  // Between two jobs, when the next is already known. It may start at once: too few rigs for it are
  // topped up, otherwise nothing is started that it would have to wait for.
  void before(std::string_view next_job);
  // Between two jobs, when no next one is known. Stops early when `has_request` returns true.
  Task<void> while_idle(std::function<bool()> has_request);

 private:
  bool may_start() const;
  std::size_t target() const;

  Loop& loop_;
  ReadyPool& pool_;
  const DeviceLease& lease_;
  std::size_t candidates_ = 0;
};

}  // namespace specgen
