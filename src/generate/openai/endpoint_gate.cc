#include "generate/openai/endpoint_gate.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/race.h"

namespace specgen {
namespace {

std::unexpected<Error> not_before(Time deadline, Time turn, Time now, std::string_view why) {
  bool late = turn > deadline;
  return fail(ErrorCode::model_overloaded,
              late ? fmt::format("{}; it is tried again in {}", why, format_duration(turn - now))
                   : fmt::format("{}, for longer than this call may wait", why));
}

}  // namespace

EndpointGate::Pass::Pass(EndpointGate& gate, Semaphore::Permit permit, bool is_trial)
    : gate_(&gate), permit_(std::move(permit)), is_trial_(is_trial) {}

EndpointGate::Pass::Pass(Pass&& other) noexcept
    : gate_(std::exchange(other.gate_, nullptr)),
      permit_(std::move(other.permit_)),
      is_trial_(std::exchange(other.is_trial_, false)) {}

EndpointGate::Pass::~Pass() {
  if (gate_) end_trial();  // cancelled without a result: another call may try
}

void EndpointGate::Pass::end_trial() {
  if (!std::exchange(is_trial_, false)) return;
  gate_->trial_under_way_ = false;
  gate_->trial_ended_.set();
}

void EndpointGate::Pass::succeeded() {
  gate_->failures_ = 0;
  gate_->pause_ = {};
  // Back to full speed gradually: a server that has just refused would do so again.
  gate_->interval_ = gate_->interval_ * 9 / 10;
  if (gate_->interval_ < gate_->options_.first_interval / 10) gate_->interval_ = {};
  end_trial();
}

void EndpointGate::Pass::failed() {
  ++gate_->failures_;
  if (is_trial_ || gate_->failures_ == gate_->options_.failures_to_open) gate_->open_breaker();
  end_trial();
}

void EndpointGate::Pass::throttled(std::optional<Duration> wait) {
  EndpointGate& gate = *gate_;
  gate.interval_ =
      std::clamp(gate.interval_ * 2, gate.options_.first_interval, gate.options_.max_interval);
  gate.next_sending_ =
      std::max(gate.next_sending_,
               gate.loop_.now() + std::max(wait.value_or(Duration::zero()), gate.interval_));
  gate.failures_ = 0;  // the server works: it is only busy
  gate.pause_ = {};
  end_trial();
}

EndpointGate::EndpointGate(Loop& loop, GateOptions options)
    : loop_(loop), options_(options), slots_(loop, options.max_concurrent), trial_ended_(loop) {}

void EndpointGate::open_breaker() {
  pause_ =
      pause_ == Duration::zero() ? options_.first_pause : std::min(pause_ * 2, options_.max_pause);
  closed_until_ = loop_.now() + pause_;
}

EndpointGate::Breaker EndpointGate::breaker() const {
  if (pause_ == Duration::zero()) return Breaker::closed;
  return loop_.now() < closed_until_ ? Breaker::open : Breaker::half_open;
}

Time EndpointGate::next_turn() const {
  return breaker() == Breaker::open ? std::max(next_sending_, closed_until_) : next_sending_;
}

Task<Result<EndpointGate::Pass>> EndpointGate::enter(Time deadline) {
  auto slot = co_await race(slots_.acquire(), loop_.sleep_until(deadline));
  if (slot.second()) {
    co_return not_before(deadline, deadline, loop_.now(),
                         fmt::format("{} calls to it are running", options_.max_concurrent));
  }
  while (true) {
    Time now = loop_.now();
    Time turn = next_turn();
    if (turn > deadline) {
      co_return not_before(deadline, turn, now,
                           breaker() == Breaker::open ? "it has failed repeatedly"
                                                      : "it asks its clients to slow down");
    }
    if (turn > now) {
      co_await loop_.sleep_until(turn);
      continue;  // other calls may have been faster, or changed the interval
    }
    bool is_trial = breaker() == Breaker::half_open;
    if (is_trial && trial_under_way_) {
      trial_ended_.reset();
      auto ended = co_await race(trial_ended_.wait(), loop_.sleep_until(deadline));
      if (ended.second()) {
        co_return not_before(deadline, deadline, loop_.now(), "it has failed repeatedly");
      }
      continue;
    }
    if (is_trial) trial_under_way_ = true;
    next_sending_ = std::max(next_sending_, now + interval_);
    co_return Pass(*this, std::move(*slot.first()), is_trial);
  }
}

}  // namespace specgen
