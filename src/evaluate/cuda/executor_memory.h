#pragma once
// The memory of an executor, in its process: pieces that the judge owns and shares, mapped with
// gaps around them, inputs read-only in hardware.

#include <map>
#include <span>

#include "base/file.h"
#include "evaluate/cuda/device_memory.h"
#include "evaluate/cuda/executor_protocol.h"

namespace specgen {

class ExecutorMemory {
 public:
  ExecutorMemory(const CudaDriver& driver, const CudaDeviceFacts& device)
      : driver_(driver), device_(device) {}

  // One descriptor per piece; they may be closed afterwards. Pieces are numbered from 0 in the
  // order of import, and numbers are not reused.
  Result<void> import(const ImportRequest& request, std::span<const Fd> descriptors);
  void clear_except(std::span<const std::size_t> keep);

  // The address of a tensor; an Error if it is not within its piece.
  Result<CuAddress> address_of(const Place& place) const;

 private:
  struct Mapped {
    DevicePiece piece;
    DeviceMapping mapping;  // unmapped first
  };
  const CudaDriver& driver_;
  const CudaDeviceFacts& device_;
  std::map<std::size_t, Mapped> pieces_;
  std::size_t imported_ = 0;
};

}  // namespace specgen
