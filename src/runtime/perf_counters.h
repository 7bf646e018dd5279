#pragma once
// The processor's own counters (perf_event_open), for another process of ours: all threads it has
// when they are opened, and all that these start later. User mode only. Many machines have none to
// give: then the error says in one line why, and the work goes on without them.
// Costs five descriptors per thread; the counted process is not slowed down.

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
  // Not every processor that counts the first two counts these.
  std::optional<double> cache_misses;  // of the last cache before memory
  std::optional<double> l1d_misses;    // of loads
  std::optional<double> branch_misses;
};
Json to_json(const CounterValues& values);

// What the kernel counts: its numbers for `type` and `config` of perf_event_attr.
struct PerfEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
};

class PerfCounters {
 public:
  // In the order of CounterValues, the dispensable ones last. No more: a group counts as a whole or not at all, and
  // beside an NMI watchdog many processors have room for five.
  static constexpr std::size_t kEvents = 5;

  static Result<PerfCounters> open(pid_t pid);
  // Other events in the place of the usual ones.
  static Result<PerfCounters> open(pid_t pid, const std::array<PerfEvent, kEvents>& events);

  void start();
  // Since start(). An error if the counters were never on the processor.
  Result<CounterValues> stop();

 private:
  struct Reading {  // as the kernel writes it
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
  };
  struct Group {  // of one thread; the first leads
    std::array<Fd, kEvents> counters;
    std::array<Reading, kEvents> before;
  };
  static Result<Group> open_group(pid_t thread, const std::array<PerfEvent, kEvents>& events);
  static std::array<Reading, kEvents> read_group(const Group& group);

  std::vector<Group> groups_;
};

// Why the kernel did not open a counter. `paranoid` is the content of its perf_event_paranoid.
Error counters_refused(int error_number, std::string_view paranoid);

}  // namespace specgen
