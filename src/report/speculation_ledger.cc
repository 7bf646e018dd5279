#include "report/speculation_ledger.h"

#include <algorithm>
#include <set>
#include <string>

namespace specgen {
namespace {

OriginCount& of(SpeculationLedger& ledger, Origin origin) {
  return ledger.origins[static_cast<std::size_t>(origin)];
}

void count_end(SpeculationLedger& ledger, const RunState& state, const IterationEnded& ended) {
  ++ledger.iterations;
  for (std::size_t i = 0; i < kRefusals; ++i) ledger.refusals[i] += ended.refusals[i];
  switch (ended.end) {
    case IterationEnd::answered:
      ++ledger.answered;
      break;
    case IterationEnd::no_kernel:
      ++ledger.no_kernel;
      break;
    case IterationEnd::failed:
      ++ledger.failed;
      break;
    case IterationEnd::interrupted:
    case IterationEnd::superseded:
      ++ledger.interrupted;
      break;
    case IterationEnd::abandoned:
    case IterationEnd::restarted:
      ++ledger.abandoned;
      break;
    case IterationEnd::stopped: {
      auto by = state.candidates.find(ended.by);
      bool harvested = by != state.candidates.end() && by->second.found.origin == Origin::harvest;
      ++(harvested ? ledger.stopped_by_harvest : ledger.stopped_by_fork);
    }
  }
}

// The best kernel that the shadow of an iteration wrote; 0 if it has none.
double best_of_shadow(const RunState& state, IterationId iteration) {
  double best = 0;
  for (const auto& [id, candidate] : state.candidates) {
    if (!candidate.found.shadow || candidate.found.iteration != iteration) continue;
    if (candidate.judged && candidate.judged->profiled) {
      best = std::max(best, candidate.judged->speedup.median);
    }
  }
  return best;
}

void count_shadow(SpeculationLedger& ledger, const RunState& state,
                  const IterationState& iteration) {
  ++ledger.shadows;
  ledger.shadow_tokens += iteration.shadow->saved_tokens;
  ledger.shadow_time += iteration.shadow->saved;
  if (!iteration.ended) return;
  ledger.shadow_estimate += iteration.ended->saved_tokens;
  auto by = state.candidates.find(iteration.ended->by);
  if (by == state.candidates.end() || !by->second.judged) return;
  double missed = best_of_shadow(state, iteration.begun.id);
  ledger.forgone_better += missed > by->second.judged->speedup.median;
}

void count_candidate(SpeculationLedger& ledger, const CandidateState& candidate,
                     std::set<std::string>& devices) {
  if (candidate.found.shadow) return;
  OriginCount& origin = of(ledger, candidate.found.origin);
  ++origin.found;
  if (!candidate.judged) return;
  const CandidateJudged& judged = *candidate.judged;
  origin.withdrawn += judged.withdrawn;
  origin.repeated += judged.repeated;
  if (!judged.withdrawn) origin.ok += judged.verdict == Verdict::ok;
  if (is_feedback(judged)) {
    ++origin.profiled;
    ++ledger.profiled;
    origin.best = std::max(origin.best, candidate.speedup().median);
  }
  Duration on_devices{};
  for (const StageSpan& span : candidate.spans()) {
    if (span.stage == Stage::compile) continue;  // on a compile slot, not on a device
    devices.insert(span.device);
    on_devices += span.ended - span.started;
  }
  if (judged.repeated) return;  // these spans are another candidate's
  origin.device_time += on_devices;
  if (!judged.withdrawn) ledger.device_time += on_devices;
}

double main_token_rate(const RunState& state) {
  std::int64_t tokens = 0;
  Duration time{};
  for (const auto& [id, call] : state.calls) {
    if (!call.done || call.sent.purpose != "main") continue;
    tokens += call.done->usage.completion_tokens;
    time += call.done->ended - call.done->sent;
  }
  return time > Duration::zero() ? static_cast<double>(tokens) / seconds(time) : 0;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

double SpeculationLedger::early_share() const {
  return share(early_stops(), iterations);
}
double SpeculationLedger::feedback_per_100() const {
  return 100 * share(feedback_iterations, iterations);
}
double SpeculationLedger::utilisation() const {
  double available = static_cast<double>(devices) * seconds(wall);
  return available > 0 ? std::min(1.0, seconds(device_time) / available) : 0;
}
std::int64_t SpeculationLedger::tokens_saved() const {
  return tokens.saved - shadow_estimate + shadow_tokens;
}
Duration SpeculationLedger::saved() const {
  if (main_tokens_per_second <= 0) return shadow_time;
  double estimated = static_cast<double>(tokens.saved - shadow_estimate) / main_tokens_per_second;
  return shadow_time + from_seconds(std::max(0.0, estimated));
}
Duration SpeculationLedger::speculative_device_time() const {
  return origins[static_cast<std::size_t>(Origin::fork)].device_time +
         origins[static_cast<std::size_t>(Origin::harvest)].device_time;
}

SpeculationLedger speculation_ledger(const RunState& state) {
  SpeculationLedger ledger;
  ledger.tokens = state.tokens;
  ledger.wall = state.last_at;
  for (const auto& [id, iteration] : state.iterations) {
    if (iteration.begun.role == kStartRole) continue;  // the user's own kernel
    if (iteration.ended) {
      count_end(ledger, state, *iteration.ended);
      ledger.feedback_iterations += iteration.feedback > 0;
    }
    if (iteration.shadow && iteration.shadow->whole) count_shadow(ledger, state, iteration);
  }
  std::set<std::string> devices;
  for (const auto& [id, candidate] : state.candidates) count_candidate(ledger, candidate, devices);
  // Devices that were never used count too.
  devices.insert(state.run.devices.begin(), state.run.devices.end());
  ledger.devices = static_cast<std::int64_t>(devices.size());
  ledger.main_tokens_per_second = main_token_rate(state);
  if (ledger.main_tokens_per_second > 0) {
    ledger.time_saved =
        from_seconds(static_cast<double>(state.tokens.saved) / ledger.main_tokens_per_second);
  }
  return ledger;
}

}  // namespace specgen
