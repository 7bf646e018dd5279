#pragma once
// A device is used by one process of this host at a time, whoever started it: timings are worthless
// otherwise. The lock is a file in the system's folder for temporary files, which any user may lock;
// it goes with the process that holds it.

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
  // `names`: what is locked, each for itself: "cuda-0", "core-1".
  explicit DeviceLock(std::vector<std::string> names) : names_(std::move(names)) {}

  // Waits for its turn; device_busy after `limit`. Does nothing if it is held already.
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
