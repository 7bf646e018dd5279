#pragma once
// Expected outputs that stay on the device between candidates, in the judge's context, where no
// candidate can see them: to check an output then copies only the report. Bounded: when it is full,
// everything is dropped and filled again.

#include <cstdint>
#include <map>
#include <vector>

#include "evaluate/cuda/device_memory.h"
#include "evaluate/judge/compare.h"

namespace specgen {

class ExpectationStore {
 public:
  // Device addresses.
  struct Kept {
    CuAddress values = 0;
    CuAddress scales = 0;
    CuAddress indices = 0;  // 0: consecutive elements from `first`
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  ExpectationStore(const CudaDriver& driver, const CudaDeviceFacts& device, CuStream stream,
                   std::size_t max_bytes)
      : driver_(driver), device_(device), stream_(stream), max_bytes_(max_bytes) {}

  const Kept* find(std::uint64_t key) const;  // null: not stored
  // Copies it to the device and waits. May drop other entries. A key always means the same
  // expectation; one with key 0 is kept until the next with key 0.
  Result<Kept> put(const Expected& expected);

 private:
  Result<CuAddress> allocate(std::size_t bytes);
  Result<void> upload(CuAddress to, const void* from, std::size_t bytes);

  const CudaDriver& driver_;
  const CudaDeviceFacts& device_;
  CuStream stream_;
  std::size_t max_bytes_;
  std::map<std::uint64_t, Kept> kept_;
  std::vector<DeviceBuffer> chunks_;  // filled one after the other
  std::size_t used_ = 0;              // of the last one
  std::size_t bytes_ = 0;             // of all of them
  std::optional<DeviceBuffer> without_key_;
};

}  // namespace specgen
