#pragma once
// Fixtures for tests: a loop in virtual or real time, and objects that log their destruction.

#include <dirent.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/task_group.h"
#include "runtime/virtual_driver.h"

namespace specgen {

struct VirtualRuntime {
  explicit VirtualRuntime(std::uint64_t seed = 1) : driver(seed), loop(driver) {}
  VirtualDriver driver;
  Loop loop;
};

struct RealRuntime {
  RealRuntime() : driver(1), loop(driver) {}
  RealDriver driver;
  Loop loop;
};

inline Time at(Duration since_start) {
  return Time(since_start);
}

using Log = std::vector<std::string>;

// Appends its name to the log when it is destroyed.
class LogOnDestroy {
 public:
  LogOnDestroy(Log& log, std::string name) : log_(&log), name_(std::move(name)) {}
  LogOnDestroy(LogOnDestroy&& other) noexcept
      : log_(std::exchange(other.log_, nullptr)), name_(std::move(other.name_)) {}
  LogOnDestroy& operator=(LogOnDestroy&&) = delete;
  ~LogOnDestroy() {
    if (log_) log_->push_back(std::move(name_));
  }

 private:
  Log* log_;
  std::string name_;
};

// Yields `turns` times.
inline Task<void> pass(Loop& loop, int turns) {
  for (int i = 0; i < turns; ++i) co_await loop.yield();
}

inline Task<void> nap(Loop& loop, Duration duration) {
  co_await loop.sleep(duration);
}

// Logs its beginning, its normal end and its destruction.
inline Task<void> run_logged(Loop& loop, Duration duration, Log& log, std::string name) {
  LogOnDestroy at_end(log, name + " destroyed");
  log.push_back(name + " began");
  co_await loop.sleep(duration);
  log.push_back(name + " ended");
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  SG_ASSERT(folder, "there is no /proc");
  while (::readdir(folder)) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace specgen
