#pragma once
// A lock that lets one process of this host use a device at a time, whichever user started it: otherwise timings would
// be worthless. It is a file in the system's folder for temporary files that any user may lock; the kernel releases it
// when the process ends.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "runtime/loop.h"
#include "runtime/task.h"

namespace specgen {

class DeviceLock {
 public:
  // `names`: what is locked, one file each: "cuda-0", "core-1".
  explicit DeviceLock(std::vector<std::string> names) : names_(std::move(names)) {}

  // Waits until the device is free; device_busy after `limit`. Does nothing if the lock is held already.
  Task<Result<void>> acquire(Loop& loop, Duration limit,
                             std::function<void(std::string_view)> on_waiting = {});
  void release() { held_.clear(); }
  bool held() const { return !held_.empty(); }

 private:
  Result<bool> try_all();

  std::vector<std::string> names_;
  std::vector<Fd> held_;
};

}  // namespace specgen
