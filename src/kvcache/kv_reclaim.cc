#include "kvcache/kv_reclaim.h"

#include <algorithm>

#include "runtime/stopwatch.h"

namespace specgen {

Bytes KvReclaim::reclaim(Bytes bytes) {
  const std::int64_t start = stopwatch_ns();
  Bytes given = store_.reclaim(bytes);
  count(stopwatch_ns() - start);
  return given;
}

Bytes KvReclaim::reclaim_device(int device, Bytes bytes) {
  const std::int64_t start = stopwatch_ns();
  Bytes given = store_.reclaim_device(device, bytes);
  count(stopwatch_ns() - start);
  return given;
}

void KvReclaim::count(std::int64_t took_ns) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  auto range = std::ranges::find_if(
      kUpperBounds, [&](std::uint32_t bound) { return took_ns <= bound * kMillisecond; });
  ++counts_[static_cast<std::size_t>(range - kUpperBounds.begin())];
  total_ns_ += static_cast<std::uint64_t>(took_ns);
}

KvReclaim::Times KvReclaim::times() const {
  Times times;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    times.counts[i] = counts_[i];
    times.count += times.counts[i];
  }
  times.total_seconds = static_cast<double>(total_ns_.load()) / 1e9;
  return times;
}

}  // namespace specgen
