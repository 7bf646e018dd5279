#include "speculate/gate.h"

#include <algorithm>

namespace specgen {
namespace {

constexpr double kFading = 1.0 / 32;  // of old results, with every new one
constexpr double kAssumedGood = 2;    // forks, before any is evaluated
constexpr double kWorthOfOk = 0.5;    // feedback is worth something, even if it is no progress

}  // namespace

std::string_view to_string(Refusal refusal) {
  constexpr std::array<std::string_view, kRefusals> kNames{
      "too_early",   "too_close",    "too_many_in_flight", "too_many_this_iteration",
      "nothing_new", "weak_trigger", "poor_yield",         "budget",
      "pool_is_full"};
  return kNames[static_cast<std::size_t>(refusal)];
}

bool is_temporary(Refusal refusal) {
  return refusal == Refusal::too_early || refusal == Refusal::too_close ||
         refusal == Refusal::too_many_in_flight || refusal == Refusal::pool_is_full;
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

// The cheapest checks first. The yield is checked last, since a poor one still lets a probe through.
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
  if (view.load.expected_wait > settings_.max_wait || !has_capacity(view.load)) {
    return Refusal::pool_is_full;
  }

  double promise = trigger.weight * (evaluated_ < settings_.forgiven_failures ? 1 : yield());
  bool is_busy = view.load.devices > 0 && !view.load.has_capacity();
  if (promise < settings_.min_weight) {
    if (++refused_for_yield_ < settings_.probe_every) return Refusal::poor_yield;
    // The yield may have changed: the prompt has.
    refused_for_yield_ = 0;
  } else if (is_busy && promise < settings_.min_weight_when_busy) {
    return Refusal::pool_is_full;
  }
  return std::nullopt;
}

// At least one may wait, or a single device would be idle between two candidates. Compiling candidates will wait next.
bool Gate::has_capacity(const PoolLoad& load) const {
  if (load.devices == 0) return true;
  std::size_t waiting = load.queued[0] + load.running[0] + load.queued[1] + load.queued[2];
  double limit = std::max(1.0, settings_.max_waiting * static_cast<double>(load.devices));
  return load.idle_devices > waiting || static_cast<double>(waiting) < limit;
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

void Gate::add_fork_result(bool ok, bool better) {
  ++evaluated_;
  weight_evaluated_ = weight_evaluated_ * (1 - kFading) + 1;
  worth_ = worth_ * (1 - kFading) + (ok && better ? 1 : ok ? kWorthOfOk : 0);
}

void Gate::add_tokens(std::int64_t main_tokens, std::int64_t fork_tokens) {
  main_tokens_ += main_tokens;
  fork_tokens_ += fork_tokens;
}

double Gate::yield() const {
  return (worth_ + kAssumedGood) / (weight_evaluated_ + kAssumedGood);
}

}  // namespace specgen
