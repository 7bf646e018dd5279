#pragma once
// Virtual time: wait() returns at once with the clock set to the deadline. The same seed gives the
// same run, step for step.

#include "runtime/driver.h"

namespace specgen {

class VirtualDriver final : public Driver {
 public:
  // Wall time begins at a fixed date, so that printed dates repeat too.
  explicit VirtualDriver(std::uint64_t seed, WallTime start = {1'767'225'600'000})
      : random_(seed), wall_offset_(start) {}

  Time now() const override { return now_; }
  WallTime wall_now() const override {
    auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch());
    return {wall_offset_.ms_since_1970 + elapsed.count()};
  }
  Random& random() override { return random_; }
  bool wait(std::optional<Time> deadline) override {
    if (!deadline) return false;
    if (*deadline > now_) now_ = *deadline;
    return true;
  }
  void poll() override {}

  // Fault injection: the machine's clock is set. now() is unaffected.
  void jump_wall_clock(std::chrono::milliseconds by) { wall_offset_.ms_since_1970 += by.count(); }

 private:
  Random random_;
  Time now_{};
  WallTime wall_offset_;
};

}  // namespace specgen
