#pragma once
// Hardware performance counters (perf_event_open) of another process: all its threads at the time of
// open(), and all threads these start later. User mode only. Many machines offer none: the error says
// why in one line, and callers continue without counters.
// Cost: five descriptors per thread; the counted process is not slowed down.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace specgen {

struct CounterValues {
  double cycles = 0;
  double instructions = 0;
  // Not available on every processor that counts the first two.
  std::optional<double> cache_misses;  // of the last-level cache
  std::optional<double> l1d_misses;    // of loads
  std::optional<double> branch_misses;
};
Json to_json(const CounterValues& values);

// `type` and `config` of perf_event_attr.
struct PerfEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
};

class PerfCounters {
 public:
  // In the order of CounterValues, the optional ones last. A group is counted as a whole or not at all, and with an
  // NMI watchdog many processors have five counters left.
  static constexpr std::size_t kEvents = 5;

  static Result<PerfCounters> open(pid_t pid);
  // With other events instead of the default ones.
  static Result<PerfCounters> open(pid_t pid, const std::array<PerfEvent, kEvents>& events);

  void start();
  // Counts since start(). An error if the kernel never scheduled the counters.
  Result<CounterValues> stop();

 private:
  struct Reading {  // the kernel's layout
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
  };
  struct Group {  // of one thread; the first counter is the leader
    std::array<Fd, kEvents> counters;
    std::array<Reading, kEvents> before;
  };
  static Result<Group> open_group(pid_t thread, const std::array<PerfEvent, kEvents>& events);
  static std::array<Reading, kEvents> read_group(const Group& group);

  std::vector<Group> groups_;
};

// The error for a failed perf_event_open. `paranoid` is the content of perf_event_paranoid.
Error counters_refused(int error_number, std::string_view paranoid);

}  // namespace specgen
