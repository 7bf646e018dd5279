#pragma once
// Detects a candidate that works while the clock does not run: before it is ready for a call, or
// after it reports that it is done. The kernel counts the processor time of both. One call proves
// nothing: steal time of a virtual machine and interrupts count as processor time too. Pure.

#include <cstddef>
#include <cstdint>

#include "evaluate/cpu/cpu_executor.h"

namespace specgen {

class HiddenWork {
 public:
  void add(const CallTiming& timing, std::size_t threads);
  // In several calls in a row, or in fewer calls but much of the time: one call per rotation
  // suffices to prepare all sets.
  bool is_proven() const;

 private:
  std::int64_t calls_ = 0;
  std::int64_t late_ = 0;  // of these
  int late_in_a_row_ = 0;
  std::int64_t hidden_ns_ = 0;  // in those that were late
  std::int64_t open_ns_ = 0;    // in all
};

}  // namespace specgen
