#pragma once
// This process' exclusive use of a device: the lock against other processes of the host (device_lock.h), and the cores
// that this process runs on while it holds it.
//
//   acquire()         lock; move to the judge's cores, so that the device's cores are the candidate's; raise priority
//   end_timing()      normal priority; between timings the device's locked cores may do our own work too
//   release()         other processes may use the device

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/judge/device_lock.h"
#include "runtime/task.h"

namespace specgen {

struct LeaseOptions {
  Duration lock_wait{};
  std::vector<int> keep_off = {};  // cores on which other devices of the host are timed
  std::function<void(std::string_view)> on_waiting = {};
};

class DeviceLease {
 public:
  DeviceLease(Loop& loop, std::vector<std::string> lock_names, LeaseOptions options)
      : loop_(loop), lock_(std::move(lock_names)), options_(std::move(options)) {}

  // The cores on which no candidate runs. Call it once, before the first acquire(): later the cores
  // that this process was allowed to use are no longer known.
  void set_judge_cores(std::vector<int> cores);

  Task<Result<void>> lock();  // device_busy after options.lock_wait
  Task<Result<void>> acquire();
  void end_timing();
  void use_device_cores();  // does nothing unless the device is locked
  void release() { lock_.release(); }
  bool is_locked() const { return lock_.held(); }

 private:
  Loop& loop_;
  DeviceLock lock_;
  LeaseOptions options_;
  std::vector<int> judge_cores_;   // without those to keep off, if others are left
  std::vector<int> locked_cores_;  // the judge's and the device's
};

}  // namespace specgen
