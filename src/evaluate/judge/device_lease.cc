#include "evaluate/judge/device_lease.h"

#include <algorithm>

#include "runtime/stopwatch.h"

namespace specgen {
namespace {

bool contains(const std::vector<int>& cores, int core) {
  return std::ranges::find(cores, core) != cores.end();
}

}  // namespace

void DeviceLease::set_judge_cores(std::vector<int> cores) {
  judge_cores_ = cores;
  std::erase_if(judge_cores_, [&](int core) { return contains(options_.keep_off, core); });
  if (judge_cores_.empty()) judge_cores_ = cores;
  locked_cores_ = allowed_cores();
  std::erase_if(locked_cores_,
                [&](int core) { return contains(cores, core) && !contains(judge_cores_, core); });
}

Task<Result<void>> DeviceLease::lock() {
  return lock_.acquire(loop_, options_.lock_wait, options_.on_waiting);
}

Task<Result<void>> DeviceLease::acquire() {
  CO_TRY(co_await lock());
  (void)pin_to_cores(judge_cores_);
  ask_for_preference(true);
  co_return Result<void>();
}

void DeviceLease::end_timing() {
  ask_for_preference(false);
}

void DeviceLease::use_device_cores() {
  if (is_locked() && !locked_cores_.empty()) (void)pin_to_cores(locked_cores_);
}

}  // namespace specgen
