#pragma once
// What goes wrong in a simulated simulation: the kinds, how often each comes, and how often it did. Chance is drawn from
// the simulation's seed, a stream for each kind, so that turning one off does not move the others.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/units.h"

namespace specgen {

enum class Fault : std::uint8_t {
  // of the model's server
  stream_stall,    // tokens stop coming, the connection stays
  stream_cut,      // the connection breaks
  stream_garbage,  // what comes is no stream
  overload_storm,  // every request is answered with 429 for a while
  outage,          // nobody answers at all for a while
  slow_tokens,     // the server crawls for a while
  cache_loss,      // all prefixes are forgotten
  // of evaluation hosts
  node_crash,         // the host is gone with all that ran there, and comes back
  executor_hang,      // a job never ends
  executor_crash,     // a job's process dies
  slow_device,        // a device crawls for a while
  flaky_verdict,      // an answer that another run would not give
  lost_result,        // an answer that never arrives
  duplicated_result,  // one that arrives twice
  nonsense_answer,    // one that cannot be understood
  poison,             // a kernel that takes every executor with it
  // of the controller's own machine
  disk_full,
  controller_kill,
  clock_jump,
};
inline constexpr std::size_t kFaults = 19;
std::string_view to_string(Fault fault);  // as scenarios name them

enum class FaultUnit : std::uint8_t {
  per_hour,         // of the whole simulation
  per_host_hour,    // of each host
  per_device_hour,  // of each device
  per_stream,       // a probability, as are those below
  per_job,
  per_answer,
  per_kernel,
};
FaultUnit unit_of(Fault fault);
bool is_probability(FaultUnit unit);
std::string_view to_string(FaultUnit unit);

struct FaultSettings {
  std::array<double, kFaults> rates{};  // by kind, in its unit
  // How long those last that last, on average.
  Duration storm = std::chrono::minutes(2);
  Duration outage = std::chrono::minutes(3);
  Duration slow_tokens = std::chrono::minutes(10);
  Duration slow_device = std::chrono::minutes(10);
  Duration node_away = std::chrono::seconds(30);
  Duration disk_full = std::chrono::minutes(1);
  Duration restart = std::chrono::seconds(5);  // of a controller that was killed
  double slow_factor = 5;                      // of tokens and devices that crawl
  double rate(Fault fault) const { return rates[static_cast<std::size_t>(fault)]; }
};

using FaultCounts = std::array<std::uint64_t, kFaults>;

class Faults {
 public:
  Faults(const FaultSettings& settings, Random random);

  const FaultSettings& settings() const { return settings_; }
  // Of kinds that are a probability; one that strikes is counted.
  bool strikes(Fault fault);
  // Of kinds that are a rate: how long until the next; nothing of that kind ever comes: Duration::max().
  Duration until_next(Fault fault, double units = 1);
  void count(Fault fault) { ++counts_[index(fault)]; }

  Random& chance(Fault fault) { return streams_[index(fault)]; }
  const FaultCounts& counts() const { return counts_; }

 private:
  static std::size_t index(Fault fault) { return static_cast<std::size_t>(fault); }

  FaultSettings settings_;
  std::vector<Random> streams_;
  FaultCounts counts_{};
};

}  // namespace specgen
