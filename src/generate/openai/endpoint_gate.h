#pragma once
// The door to one endpoint, shared by all calls to it: how many at a time, how fast one after another
// (learned from 429s), and whether it is worth knocking at all (a circuit breaker).
//
//   EndpointGate::Pass pass = CO_TRY(co_await gate->enter(deadline));
//   ... one attempt ...
//   pass.succeeded();            // or failed(), throttled(wait); silence (a cancel) says nothing
//
// A pass holds its place until it is destroyed. All time is the loop's. Outlives its passes.

#include <cstddef>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "runtime/loop.h"
#include "runtime/sync.h"
#include "runtime/task.h"

namespace specgen {

struct GateOptions {
  std::size_t max_concurrent = 64;
  int failures_to_open = 5;  // in a row
  Duration first_pause = std::chrono::seconds(5);
  Duration max_pause = std::chrono::minutes(2);
  Duration first_interval = std::chrono::milliseconds(100);  // between two sendings, after a 429
  Duration max_interval = std::chrono::seconds(10);
};

class EndpointGate {
 public:
  enum class Breaker { closed, open, half_open };

  class Pass {
   public:
    Pass(Pass&&) noexcept;
    Pass& operator=(Pass&&) = delete;
    ~Pass();
    void succeeded();  // the server answers as it should
    void failed();     // it does not
    void throttled(std::optional<Duration> wait);

   private:
    friend class EndpointGate;
    Pass(EndpointGate& gate, Semaphore::Permit permit, bool is_trial);
    void end_trial();

    EndpointGate* gate_;
    Semaphore::Permit permit_;
    bool is_trial_;
  };

  EndpointGate(Loop& loop, GateOptions options);

  // Waits for a free place and for its turn. Fails with model_overloaded if that cannot be before
  // `deadline`: while the breaker is open, at once.
  Task<Result<Pass>> enter(Time deadline);

  Breaker breaker() const;
  Duration interval() const { return interval_; }

 private:
  Time next_turn() const;  // when the next may be sent, by pace and breaker
  void open_breaker();

  Loop& loop_;
  GateOptions options_;
  Semaphore places_;
  // Pace.
  Duration interval_{};
  Time next_sending_{};
  // Breaker.
  int failures_ = 0;  // in a row
  Duration pause_{};  // zero: closed
  Time closed_until_{};
  bool trial_under_way_ = false;
  Event trial_ended_;
};

}  // namespace specgen
