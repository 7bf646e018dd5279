#pragma once
// The faults of a simulation: their kinds, their rates and their counts. Randomness comes from the seed of the
// simulation, one stream per kind, so that disabling one kind does not change the others.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/units.h"

namespace specgen {

enum class Fault : std::uint8_t {
  // model server
  stream_stall,    // no more tokens, the connection stays open
  stream_cut,      // the connection breaks
  stream_garbage,  // the data is not a valid stream
  overload_storm,  // every request gets a 429 for a while
  outage,          // the server does not answer for a while
  slow_tokens,     // the server is slow for a while
  cache_loss,      // all prefixes are dropped
  // evaluation hosts
  node_crash,         // the host and all its jobs are lost; it restarts
  executor_hang,      // a job never ends
  executor_crash,     // the process of a job dies
  slow_device,        // a device is slow for a while
  flaky_verdict,      // a wrong verdict that another run would not give
  lost_result,        // an answer that never arrives
  duplicated_result,  // an answer that arrives twice
  nonsense_answer,    // an invalid answer
  poison,             // a kernel that kills every executor
  // machine of the controller
  disk_full,
  controller_kill,
  clock_jump,
};
inline constexpr std::size_t kFaults = 19;
std::string_view to_string(Fault fault);  // as in scenarios

enum class FaultUnit : std::uint8_t {
  per_hour,         // of the whole simulation
  per_host_hour,    // of each host
  per_device_hour,  // of each device
  per_stream,       // a probability, as the following
  per_job,
  per_answer,
  per_kernel,
};
FaultUnit unit_of(Fault fault);
bool is_probability(FaultUnit unit);
std::string_view to_string(FaultUnit unit);

struct FaultSettings {
  std::array<double, kFaults> rates{};  // by kind, in its unit
  // Mean durations.
  Duration storm = std::chrono::minutes(2);
  Duration outage = std::chrono::minutes(3);
  Duration slow_tokens = std::chrono::minutes(10);
  Duration slow_device = std::chrono::minutes(10);
  Duration node_away = std::chrono::seconds(30);
  Duration disk_full = std::chrono::minutes(1);
  Duration restart = std::chrono::seconds(5);  // of a killed controller
  double slow_factor = 5;                      // of slow tokens and devices
  double rate(Fault fault) const { return rates[static_cast<std::size_t>(fault)]; }
};

using FaultCounts = std::array<std::uint64_t, kFaults>;

class Faults {
 public:
  Faults(const FaultSettings& settings, Random random);

  const FaultSettings& settings() const { return settings_; }
  // For kinds with a probability: draws, and counts the fault if it occurs.
  bool occurs(Fault fault);
  // For kinds with a rate: the time until the next one; Duration::max() if the rate is 0.
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
