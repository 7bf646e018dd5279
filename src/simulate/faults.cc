#include "simulate/faults.h"

#include "base/assert.h"

namespace specgen {
namespace {

struct FaultKind {
  std::string_view name;
  FaultUnit unit;
};

// In the order of the enumeration.
constexpr std::array<FaultKind, kFaults> kKinds{{
    {"stream_stall", FaultUnit::per_stream},
    {"stream_cut", FaultUnit::per_stream},
    {"stream_garbage", FaultUnit::per_stream},
    {"overload_storm", FaultUnit::per_hour},
    {"outage", FaultUnit::per_hour},
    {"slow_tokens", FaultUnit::per_hour},
    {"cache_loss", FaultUnit::per_hour},
    {"node_crash", FaultUnit::per_host_hour},
    {"executor_hang", FaultUnit::per_job},
    {"executor_crash", FaultUnit::per_job},
    {"slow_device", FaultUnit::per_device_hour},
    {"flaky_verdict", FaultUnit::per_job},
    {"lost_result", FaultUnit::per_answer},
    {"duplicated_result", FaultUnit::per_answer},
    {"nonsense_answer", FaultUnit::per_answer},
    {"poison", FaultUnit::per_kernel},
    {"disk_full", FaultUnit::per_hour},
    {"controller_kill", FaultUnit::per_hour},
    {"clock_jump", FaultUnit::per_hour},
}};

}  // namespace

std::string_view to_string(Fault fault) {
  return kKinds[static_cast<std::size_t>(fault)].name;
}

FaultUnit unit_of(Fault fault) {
  return kKinds[static_cast<std::size_t>(fault)].unit;
}

bool is_probability(FaultUnit unit) {
  return unit >= FaultUnit::per_stream;
}

std::string_view to_string(FaultUnit unit) {
  constexpr std::array<std::string_view, 7> kNames{
      "per hour", "per host and hour", "per device and hour", "per generation",
      "per job",  "per answer",        "per kernel"};
  return kNames[static_cast<std::size_t>(unit)];
}

Faults::Faults(const FaultSettings& settings, Random random) : settings_(settings) {
  for (const FaultKind& kind : kKinds) streams_.push_back(random.fork(kind.name));
}

bool Faults::occurs(Fault fault) {
  SG_ASSERT(is_probability(unit_of(fault)), "this kind has a rate, not a probability");
  double rate = settings_.rate(fault);
  if (rate == 0 || !chance(fault).chance(rate)) return false;
  count(fault);
  return true;
}

Duration Faults::until_next(Fault fault, double units) {
  SG_ASSERT(!is_probability(unit_of(fault)), "this kind has a probability, not a rate");
  double per_hour = settings_.rate(fault) * units;
  if (per_hour == 0) return Duration::max();
  constexpr double kSecondsPerHour = 3600;
  return from_seconds(chance(fault).exponential(kSecondsPerHour / per_hour));
}

}  // namespace specgen
