#include "speculate/gate.h"

#include <algorithm>

namespace specgen {
namespace {

constexpr double kFades = 1.0 / 32;  // of what was learned, with every fork that is judged
constexpr double kTrust = 2;         // good forks that are taken for granted before any is judged
constexpr double kTelling = 0.2;     // share of kernels that are ok, for a failure to be news
constexpr double kWorthOfOk = 0.5;   // feedback is worth something, also if it tells of nothing new

}  // namespace

std::string_view to_string(Refusal refusal) {
  constexpr std::array<std::string_view, kRefusals> kNames{
      "too_early",   "too_close",    "too_many_in_flight", "too_many_this_iteration",
      "nothing_new", "weak_trigger", "poor_yield",         "budget",
      "pool_is_full"};
  return kNames[static_cast<std::size_t>(refusal)];
}

std::optional<Refusal> Gate::ask(const Trigger& trigger, const GateView& view) {
  auto refusal = decide(trigger, view);
  if (refusal) {
    ++refusals_[static_cast<std::size_t>(*refusal)];
  } else {
    ++allowed_;
  }
  return refusal;
}

std::optional<Refusal> Gate::ask_again(const Trigger& trigger, const GateView& view) {
  auto refusal = decide(trigger, view);
  if (!refusal) ++allowed_;
  return refusal;
}

// The cheapest reasons first; the last that can refuse is the one that may let a probe through.
std::optional<Refusal> Gate::decide(const Trigger& trigger, const GateView& view) {
  if (view.tokens < settings_.first_after_tokens) return Refusal::too_early;
  if (has_any_ && view.tokens - last_at_tokens_ < settings_.gap_tokens) return Refusal::too_close;
  if (view.forks_in_flight >= settings_.max_in_flight) return Refusal::too_many_in_flight;
  if (view.forks_this_iteration >= settings_.max_per_iteration) {
    return Refusal::too_many_this_iteration;
  }
  if (has_any_ && view.new_bytes < settings_.min_new_bytes) return Refusal::nothing_new;
  if (trigger.weight < settings_.min_weight) return Refusal::weak_trigger;
  if (view.tokens_left >= 0 && view.fork_cost > view.tokens_left) return Refusal::budget;
  if (is_over_share(view)) return Refusal::budget;
  if (view.load.expected_wait > settings_.max_wait || !has_room(view.load)) {
    return Refusal::pool_is_full;
  }

  double promise = trigger.weight * (judged_ < settings_.forgiven_failures ? 1 : yield());
  bool is_busy = view.load.devices > 0 && !view.load.has_room();
  if (promise < settings_.min_weight) {
    if (++refused_for_yield_ < settings_.probe_every) return Refusal::poor_yield;
    // What was learned may no longer hold: the prompt has changed since.
    refused_for_yield_ = 0;
  } else if (is_busy && promise < settings_.min_weight_when_busy) {
    return Refusal::pool_is_full;
  }
  return std::nullopt;
}

// At least one may wait, or a single device would be idle between two candidates. What is being compiled will wait
// next.
bool Gate::has_room(const PoolLoad& load) const {
  if (load.devices == 0) return true;
  std::size_t waiting = load.queued[0] + load.running[0] + load.queued[1] + load.queued[2];
  double most = std::max(1.0, settings_.max_waiting * static_cast<double>(load.devices));
  return load.idle_devices > waiting || static_cast<double>(waiting) < most;
}

bool Gate::is_over_share(const GateView& view) const {
  std::int64_t forks = fork_tokens_ + (view.forks_in_flight + 1) * view.fork_cost;
  if (forks <= settings_.free_tokens) return false;
  auto main = static_cast<double>(main_tokens_ + view.tokens);
  return static_cast<double>(forks) > settings_.token_share * main;
}

void Gate::begin_iteration() {
  has_any_ = false;
  last_at_tokens_ = 0;
}

void Gate::forked(std::int64_t at_tokens) {
  harvested(at_tokens);
}

void Gate::harvested(std::int64_t at_tokens) {
  has_any_ = true;
  last_at_tokens_ = std::max(last_at_tokens_, at_tokens);
}

void Gate::judged(bool ok, bool good) {
  ++judged_;
  weight_judged_ = weight_judged_ * (1 - kFades) + 1;
  worth_ = worth_ * (1 - kFades) + (ok && good ? 1 : ok ? kWorthOfOk : 0);
}

void Gate::came_out(Origin origin, bool ok) {
  Outcomes& known = outcomes_[static_cast<std::size_t>(origin)];
  known.judged = known.judged * (1 - kFades) + 1;
  known.ok = known.ok * (1 - kFades) + (ok ? 1 : 0);
}

bool Gate::failure_tells(Origin origin) const {
  const Outcomes& known = outcomes_[static_cast<std::size_t>(origin)];
  return known.ok + kTrust >= kTelling * (known.judged + kTrust);
}

void Gate::spent(std::int64_t main_tokens, std::int64_t fork_tokens) {
  main_tokens_ += main_tokens;
  fork_tokens_ += fork_tokens;
}

double Gate::yield() const {
  return (worth_ + kTrust) / (weight_judged_ + kTrust);
}

}  // namespace specgen
