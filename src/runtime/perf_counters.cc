#include "runtime/perf_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kRequired = 2;  // cycles and instructions

constexpr std::uint64_t kLoadsThatMissL1d = PERF_COUNT_HW_CACHE_L1D |
                                            (PERF_COUNT_HW_CACHE_OP_READ << 8) |
                                            (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);

constexpr std::array<PerfEvent, PerfCounters::kEvents> kUsualEvents{
    {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
     {PERF_TYPE_HW_CACHE, kLoadsThatMissL1d},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}}};

std::string paranoid_level() {
  auto level = read_file("/proc/sys/kernel/perf_event_paranoid", KiB(1));
  return level ? std::string(trim(*level)) : std::string();
}

Json number_or_null(const std::optional<double>& number) {
  return number ? finite_or_null(*number) : Json(nullptr);
}

}  // namespace

Error counters_refused(int error_number, std::string_view paranoid) {
  switch (error_number) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
      return {ErrorCode::device_missing,
              "this machine has no hardware counters (a virtual machine)",
              "nothing: profiles come without counters here"};
    case ENOSYS:
      return {ErrorCode::device_missing, "this kernel was built without perf events",
              "nothing: profiles come without counters here"};
    case EACCES:
    case EPERM: {
      int level = 0;
      std::from_chars(paranoid.data(), paranoid.data() + paranoid.size(), level);
      // Up to 2, users may count user-mode events; some distributions add stricter levels.
      if (level > 2) {
        return {ErrorCode::system_call,
                fmt::format("perf_event_paranoid is {}: users may not count anything", level),
                "sysctl kernel.perf_event_paranoid=2, as root"};
      }
      return {ErrorCode::system_call,
              "the hardware counters are not permitted: a container's filter, or a process of "
              "another user",
              "run as root, or allow perf_event_open in the container"};
    }
    default: {
      Error error = fail_errno("perf_event_open", error_number).error();
      return error;
    }
  }
}

Result<PerfCounters::Group> PerfCounters::open_group(pid_t thread,
                                                     const std::array<PerfEvent, kEvents>& events) {
  Group group;
  for (std::size_t i = 0; i < kEvents; ++i) {
    perf_event_attr wanted{};
    wanted.size = sizeof wanted;
    wanted.type = events[i].type;
    wanted.config = events[i].config;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    wanted.inherit = 1;
    wanted.disabled = i == 0;  // the others follow the leader
    // Not PERF_FORMAT_GROUP: the kernel does not allow it together with `inherit`.
    wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    long fd = ::syscall(SYS_perf_event_open, &wanted, thread, -1,
                        i == 0 ? -1 : group.counters[0].get(), PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) {
      group.counters[i] = Fd(static_cast<int>(fd));
    } else if (i < kRequired) {
      return std::unexpected(counters_refused(errno, paranoid_level()));
    }
  }
  return group;
}

Result<PerfCounters> PerfCounters::open(pid_t pid) {
  return open(pid, kUsualEvents);
}

Result<PerfCounters> PerfCounters::open(pid_t pid, const std::array<PerfEvent, kEvents>& events) {
  // `inherit` covers future threads only: existing ones are opened one by one.
  std::vector<pid_t> threads = threads_of(pid);
  if (threads.empty()) return fail_errno(fmt::format("counters of process {}", pid), ESRCH);
  PerfCounters counters;
  for (pid_t thread : threads) {
    auto group = open_group(thread, events);
    if (group) {
      counters.groups_.push_back(std::move(*group));
    } else if (::access(fmt::format("/proc/{}/task/{}", pid, thread).c_str(), F_OK) == 0) {
      return std::unexpected(std::move(group).error());
    }  // else: the thread has ended meanwhile
  }
  if (counters.groups_.empty()) {
    return fail_errno(fmt::format("counters of process {}", pid), ESRCH);
  }
  return counters;
}

std::array<PerfCounters::Reading, PerfCounters::kEvents> PerfCounters::read_group(
    const Group& group) {
  std::array<Reading, kEvents> readings{};
  for (std::size_t i = 0; i < kEvents; ++i) {
    if (!group.counters[i]) continue;
    Reading reading;
    if (::read(group.counters[i].get(), &reading, sizeof reading) == sizeof reading) {
      readings[i] = reading;
    }
  }
  return readings;
}

void PerfCounters::start() {
  // Differences: a reset would not clear the counts of threads that have ended.
  for (Group& group : groups_) group.before = read_group(group);
  // Only the leader, here and in stop(): its group follows at the same moment. PERF_IOC_FLAG_GROUP would switch the
  // counters one by one, and interrupt the thread each time.
  for (Group& group : groups_) ::ioctl(group.counters[0].get(), PERF_EVENT_IOC_ENABLE, 0);
}

Result<CounterValues> PerfCounters::stop() {
  for (Group& group : groups_) ::ioctl(group.counters[0].get(), PERF_EVENT_IOC_DISABLE, 0);
  std::array<double, kEvents> totals{};
  std::array<bool, kEvents> counted{};
  for (const Group& group : groups_) {
    std::array<Reading, kEvents> after = read_group(group);
    for (std::size_t i = 0; i < kEvents; ++i) {
      auto running = static_cast<double>(after[i].running_ns - group.before[i].running_ns);
      if (!group.counters[i] || running <= 0) continue;
      // Scaled up where the kernel multiplexed the counters.
      auto enabled = static_cast<double>(after[i].enabled_ns - group.before[i].enabled_ns);
      totals[i] += static_cast<double>(after[i].value - group.before[i].value) * enabled / running;
      counted[i] = true;
    }
  }
  for (std::size_t i = 0; i < kRequired; ++i) {
    if (counted[i]) continue;
    return fail(ErrorCode::device_busy,
                "the hardware counters never counted: the process did not run, or they are in use",
                "end other profilers; the NMI watchdog takes a counter too (sysctl "
                "kernel.nmi_watchdog=0)");
  }
  auto optional = [&](std::size_t i) {
    return counted[i] ? std::optional(totals[i]) : std::nullopt;
  };
  return CounterValues{.cycles = totals[0],
                       .instructions = totals[1],
                       .cache_misses = optional(2),
                       .l1d_misses = optional(3),
                       .branch_misses = optional(4)};
}

Json to_json(const CounterValues& values) {
  return boost::json::object{
      {"cycles", finite_or_null(values.cycles)},
      {"instructions", finite_or_null(values.instructions)},
      {"instructions_per_cycle", finite_or_null(values.instructions / values.cycles)},
      {"cache_misses", number_or_null(values.cache_misses)},
      {"l1d_misses", number_or_null(values.l1d_misses)},
      {"branch_misses", number_or_null(values.branch_misses)}};
}

}  // namespace specgen
