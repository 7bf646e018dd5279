#include "evaluate/cpu/hidden_work.h"

namespace specgen {
namespace {

// Waking and falling asleep takes each thread some microseconds, and the first of many threads wait
// for the last.
constexpr std::int64_t kBetweenSleepsNs = 100'000;
constexpr std::int64_t kPerOtherThreadNs = 5'000;
constexpr int kProofInARow = 3;
constexpr std::int64_t kMaxRotation = 16;  // sets

}  // namespace

void HiddenWork::add(const CallTiming& timing, std::size_t threads) {
  const auto cores = static_cast<std::int64_t>(threads);
  const std::int64_t hidden = timing.cpu_ns - cores * timing.awake_ns;
  const bool is_late = hidden > cores * (kBetweenSleepsNs + cores * kPerOtherThreadNs);
  ++calls_;
  open_ns_ += cores * timing.awake_ns;
  late_in_a_row_ = is_late ? late_in_a_row_ + 1 : 0;
  if (!is_late) return;
  ++late_;
  hidden_ns_ += hidden;
}

bool HiddenWork::is_proven() const {
  // Half of that: besides rotations there are checks and repeated calls.
  const bool is_often = late_ >= kProofInARow && 2 * late_ * kMaxRotation >= calls_;
  return late_in_a_row_ >= kProofInARow || (is_often && hidden_ns_ > open_ns_ / 4);
}

}  // namespace specgen
