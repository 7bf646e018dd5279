#pragma once
// Admission to one endpoint, shared by all calls to it: how many at a time, the minimum interval between
// two requests (learned from 429 answers), and a circuit breaker.
//
//   EndpointGate::Pass pass = CO_TRY(co_await gate->enter(deadline));
//   ... one attempt ...
//   pass.succeeded();            // or failed(), throttled(wait); a cancelled attempt reports nothing
//
// A pass holds its slot until it is destroyed; the gate outlives its passes. Loop thread only.

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
  Duration first_interval = std::chrono::milliseconds(100);  // between two requests, after a 429
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
    void succeeded();  // the server answered properly
    void failed();     // it did not
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

  // Waits for a free slot and for the minimum interval. Fails with model_overloaded as soon as it is known that this
  // takes longer than `deadline`: while the breaker is open, at once.
  Task<Result<Pass>> enter(Time deadline);

  Breaker breaker() const;
  Duration interval() const { return interval_; }

 private:
  Time next_turn() const;  // earliest time of the next request, by interval and breaker
  void open_breaker();

  Loop& loop_;
  GateOptions options_;
  Semaphore slots_;
  // Interval.
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
