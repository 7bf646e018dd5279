#include "evaluate/judge/warm_up.h"

#include <algorithm>

namespace specgen {
namespace {

// The rig that describes programs is kept, so a further candidate needs one fewer.
constexpr std::size_t kRigsPerFurtherCandidate = 2;

}  // namespace

bool WarmUp::may_start() const {
  return pool_.can_start_while_compiling() || lease_.is_locked();
}

// The first candidate may be the only one that this judge ever gets.
std::size_t WarmUp::target() const {
  if (candidates_ <= 1) return kRigsPerCandidate;
  return std::max(kRigsPerCandidate, pool_.capacity());
}

// One rig after the other: starting one blocks the loop, on which the compiler waits for its input.
Task<void> WarmUp::while_compiling() {
  if (!may_start()) co_return;
  const bool is_cheap = pool_.can_start_while_compiling();
  if (!is_cheap && pool_.size() >= kRigsPerFurtherCandidate) co_return;
  const std::size_t wanted = is_cheap ? pool_.capacity() : target();
  for (std::size_t rigs = 1; rigs <= wanted; ++rigs) {
    co_await loop_.yield();
    if (!pool_.replenish(rigs, rigs)) co_return;
  }
  while (pool_.prepare_memory()) co_await loop_.yield();
}

void WarmUp::before(std::string_view next_job) {
  if (next_job == "compile" || next_job == "evaluate") return;  // while_compiling() does it
  const std::size_t needed = next_job == "profile" ? 1 : kRigsPerFurtherCandidate;
  if (may_start()) (void)pool_.replenish(needed, target());
}

Task<void> WarmUp::while_idle(std::function<bool()> has_request) {
  if (may_start()) (void)pool_.replenish(target(), target());
  while (!has_request() && pool_.prepare_memory()) {
  }
  (void)co_await pool_.settle();
}

}  // namespace specgen
