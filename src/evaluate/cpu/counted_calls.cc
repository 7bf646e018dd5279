#include "evaluate/cpu/counted_calls.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluate/judge/statistics.h"

namespace specgen {
namespace {

std::string describe(const Error& error) {
  // Nothing can be done about a machine without counters.
  if (error.code == ErrorCode::device_missing) return error.context;
  return fmt::format("{}; what to do: {}", error.context, error.what_to_do());
}

}  // namespace

CounterValues median_of(std::span<const CounterValues> calls) {
  auto over_calls = [&](auto event) -> std::optional<double> {
    std::vector<double> counts;
    for (const CounterValues& call : calls) {
      const std::optional<double> count = call.*event;
      if (count) counts.push_back(*count);
    }
    if (counts.empty()) return std::nullopt;
    return median(std::move(counts));
  };
  return {.cycles = over_calls(&CounterValues::cycles).value_or(0),
          .instructions = over_calls(&CounterValues::instructions).value_or(0),
          .cache_misses = over_calls(&CounterValues::cache_misses),
          .l1d_misses = over_calls(&CounterValues::l1d_misses),
          .branch_misses = over_calls(&CounterValues::branch_misses)};
}

Json counters_json(const Result<CounterValues>& counted) {
  boost::json::object facts;
  facts["counters"] = counted ? to_json(*counted) : Json(nullptr);
  facts["counters_note"] = counted ? std::string() : describe(counted.error());
  return facts;
}

}  // namespace specgen
