#include "evaluate/judge/profile_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <utility>

namespace specgen {
namespace {

std::string rate_text(double per_second, std::string_view unit) {
  return fmt::format("{}{}/s", format_count(per_second), unit);
}

const CaseResult& heaviest(const std::vector<CaseResult>& cases) {
  return *std::ranges::max_element(cases, {}, &CaseResult::candidate_seconds);
}

std::string advice(const CaseResult& result, Backend backend) {
  if (result.peak_fraction > 0.8) return "It is near what the hardware can do.";
  if (result.limit == "launch") return "It is so short that launching it is most of its time.";
  bool is_gpu = backend == Backend::cuda;
  if (result.limit == "compute") {
    return is_gpu ? "Arithmetic should bind: reuse data in registers and shared memory, use the "
                    "matrix units the task allows, keep more warps busy."
                  : "Arithmetic should bind: block for the caches and registers, keep several "
                    "accumulators, make the inner loop one of fused multiply-adds over whole "
                    "vectors.";
  }
  return is_gpu ? "Memory should bind: load 16 bytes per thread, coalesced, each byte once; keep "
                  "enough loads in flight; fuse passes."
                : "Memory should bind: touch each byte once, in order, with whole vectors; fuse "
                  "passes over the data.";
}

// Hardware counters in one sentence; empty if there are none.
std::string counters_text(const Json& facts) {
  const Json* counters = member_at(facts, "counters");
  const double per_cycle = counters ? number_at(*counters, "instructions_per_cycle") : 0;
  if (!(per_cycle > 0)) return {};
  std::string text = fmt::format("The processor counted {:.3g} instructions per cycle", per_cycle);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kMisses{
      {{"cache_misses", "cache misses"},
       {"l1d_misses", "L1 misses"},
       {"branch_misses", "branch misses"}}};
  std::string_view before = " and per call ";
  for (const auto& [key, label] : kMisses) {
    const double count = number_at(*counters, key, -1);
    if (count < 0) continue;
    text += fmt::format("{}{} {}", before, format_count(std::round(count)), label);
    before = ", ";
  }
  return text + ".";
}

}  // namespace

Floor floor_of(const Case& at, std::size_t sets, const Ceilings& ceilings) {
  const auto footprint = static_cast<double>(at.footprint().count);
  const double rotation = footprint * static_cast<double>(sets);
  const bool near = rotation <= ceilings.near_cache_bytes;
  const bool cached = rotation <= 2 * ceilings.cache_bytes;
  const double bandwidth = near     ? ceilings.near_cache_bytes_per_second
                           : cached ? ceilings.cache_bytes_per_second
                                    : ceilings.memory_bytes_per_second;
  Floor floor{bandwidth > 0 ? at.min_bytes / bandwidth : 0, near || cached ? "cache" : "memory"};
  auto rate = ceilings.flops_per_second.find(at.rate);
  if (rate != ceilings.flops_per_second.end() && rate->second > 0 &&
      at.min_flops / rate->second > floor.seconds) {
    floor = {at.min_flops / rate->second, "compute"};
  }
  if (ceilings.launch_seconds > floor.seconds) floor = {ceilings.launch_seconds, "launch"};
  return floor;
}

double mean_peak_fraction(const std::vector<CaseResult>& cases) {
  double logs = 0, weights = 0;
  for (const CaseResult& result : cases) {
    if (result.peak_fraction <= 0) continue;
    logs += result.weight * std::log(result.peak_fraction);
    weights += result.weight;
  }
  return weights > 0 ? std::exp(logs / weights) : 0;
}

Json profile_json(const std::vector<CaseResult>& cases, const Ceilings& ceilings, const Json& facts,
                  Backend backend) {
  const CaseResult& main = heaviest(cases);
  std::string text = fmt::format(
      "On {} it takes {} ({:.3g}x the baseline's speed): {:.0f} % of the speed of light, which {} "
      "limits. It moves {} and computes {}. {}",
      main.name, format_duration(from_seconds(main.candidate_seconds)), main.speedup.median,
      100 * main.peak_fraction, main.limit, rate_text(main.bytes_per_second, "B"),
      rate_text(main.flops_per_second, "flop"), advice(main, backend));
  if (std::string counted = counters_text(facts); !counted.empty()) text += " " + counted;
  if (std::string more = text_at(facts, "text"); !more.empty()) text += "\n" + more;
  boost::json::object profile{{"backend", to_string(backend)},
                              {"limit", main.limit},
                              {"peak_fraction", finite_or_null(main.peak_fraction)},
                              {"bytes_per_second", finite_or_null(main.bytes_per_second)},
                              {"flops_per_second", finite_or_null(main.flops_per_second)},
                              {"ceilings", to_json(ceilings)},
                              {"facts", facts},
                              {"text", text}};
  return profile;
}

Json to_json(const Ceilings& ceilings) {
  boost::json::object rates;
  for (const auto& [rate, value] : ceilings.flops_per_second) rates[rate] = value;
  return {{"memory_bytes_per_second", ceilings.memory_bytes_per_second},
          {"cache_bytes_per_second", ceilings.cache_bytes_per_second},
          {"cache_bytes", ceilings.cache_bytes},
          {"near_cache_bytes_per_second", ceilings.near_cache_bytes_per_second},
          {"near_cache_bytes", ceilings.near_cache_bytes},
          {"flops_per_second", std::move(rates)},
          {"launch_seconds", ceilings.launch_seconds}};
}

Result<Ceilings> ceilings_from_json(const Json& json) {
  Ceilings ceilings{.memory_bytes_per_second = number_at(json, "memory_bytes_per_second"),
                    .cache_bytes_per_second = number_at(json, "cache_bytes_per_second"),
                    .cache_bytes = number_at(json, "cache_bytes"),
                    .near_cache_bytes_per_second = number_at(json, "near_cache_bytes_per_second"),
                    .near_cache_bytes = number_at(json, "near_cache_bytes"),
                    .flops_per_second = {},
                    .launch_seconds = number_at(json, "launch_seconds")};
  if (const Json* rates = member_at(json, "flops_per_second"); rates && rates->is_object()) {
    for (const auto& [rate, value] : rates->get_object()) {
      if (value.is_number()) {
        ceilings.flops_per_second[std::string(rate)] = value.to_number<double>();
      }
    }
  }
  if (!(ceilings.memory_bytes_per_second > 0) || ceilings.flops_per_second.empty()) {
    return fail(ErrorCode::bad_json, "these ceilings have no memory bandwidth or no flop rate");
  }
  return ceilings;
}

}  // namespace specgen
