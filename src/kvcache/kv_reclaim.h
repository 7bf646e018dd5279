#pragma once
// Reclaims memory from the store and records how long it took; all callers (the leases of evaluations, KV.RECLAIM of
// a client) use this. Blocks for as long as the store needs. Thread-safe.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "kvcache/kv_store.h"

namespace specgen {

class KvReclaim {
 public:
  // Milliseconds; the last range has no upper bound.
  static constexpr std::array<std::uint32_t, 9> kUpperBounds{1, 2, 5, 10, 20, 50, 100, 200, 500};

  struct Times {
    std::array<std::uint64_t, kUpperBounds.size() + 1> counts{};  // per range, not cumulative
    std::uint64_t count = 0;
    double total_seconds = 0;
  };

  explicit KvReclaim(KvStore& store) : store_(store) {}

  Bytes reclaim(Bytes bytes);
  Bytes reclaim_device(int device, Bytes bytes);
  KvStore& store() { return store_; }  // reclaimed memory is restored there
  Times times() const;

 private:
  void count(std::int64_t took_ns);

  KvStore& store_;
  std::array<std::atomic<std::uint64_t>, kUpperBounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> total_ns_ = 0;
};

}  // namespace specgen
