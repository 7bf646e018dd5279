#pragma once
// Whether a candidate works while its time does not run: before it is ready for a call, or after it said that it was
// done. The kernel counts the processor time of both. Once is no proof: what a host takes from a virtual machine, and
// interrupts, are booked as its processor time as well. Pure.

#include <cstddef>
#include <cstdint>

#include "evaluate/cpu/cpu_executor.h"

namespace specgen {

class HiddenWork {
 public:
  void add(const CallTiming& timing, std::size_t threads);
  // Several calls in a row, or less often so much that it matters: once in a rotation is enough to prepare all sets.
  bool is_proven() const;

 private:
  std::int64_t calls_ = 0;
  std::int64_t late_ = 0;  // of these
  int late_in_a_row_ = 0;
  std::int64_t hidden_ns_ = 0;  // in those that were late
  std::int64_t open_ns_ = 0;    // in all
};

}  // namespace specgen
