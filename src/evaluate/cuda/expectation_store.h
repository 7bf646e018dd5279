#pragma once
// Expectations that stay on the device from candidate to candidate, in the judge's context, where no
// candidate can see them: a look at an output then moves nothing but its report. Bounded: what does
// not fit any more makes room for all that is new. Lives in the judge's context, like JudgeGpu.

#include <cstdint>
#include <map>
#include <vector>

#include "evaluate/cuda/device_memory.h"
#include "evaluate/judge/compare.h"

namespace specgen {

class ExpectationStore {
 public:
  // Every address is the device's.
  struct Kept {
    CuAddress values = 0;
    CuAddress scales = 0;
    CuAddress indices = 0;  // 0: elements in order, from the first on
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  ExpectationStore(const CudaDriver& driver, const CudaDeviceFacts& device, CuStream stream,
                   std::size_t max_bytes)
      : driver_(driver), device_(device), stream_(stream), max_bytes_(max_bytes) {}

  const Kept* find(std::uint64_t key) const;  // null: it is not here
  // Copies it to the device and waits. What was kept without a key or for another key may be gone
  // afterwards. A key is the same expectation for ever; 0 is kept until the next one.
  Result<Kept> put(const Expected& expected);

 private:
  Result<CuAddress> room_for(std::size_t bytes);
  Result<void> upload(CuAddress to, const void* from, std::size_t bytes);

  const CudaDriver& driver_;
  const CudaDeviceFacts& device_;
  CuStream stream_;
  std::size_t max_bytes_;
  std::map<std::uint64_t, Kept> kept_;
  std::vector<DeviceBuffer> chunks_;     // filled one after the other
  std::size_t used_ = 0;                 // of the last one
  std::size_t bytes_ = 0;                // of all of them
  std::optional<DeviceBuffer> passing_;  // what has no key
};

}  // namespace specgen
