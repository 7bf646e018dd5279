#pragma once
// The memory that an executor was given: pieces of the judge's, mapped with gaps around them,
// inputs read-only in hardware. Lives in the executor's process.

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

  // One descriptor per piece; they may be closed afterwards. The first piece that ever comes is
  // number 0, and no number is given twice.
  Result<void> import(const ImportRequest& request, std::span<const Fd> descriptors);
  void clear_but(std::span<const std::size_t> keep);

  // Where a tensor begins, if it lies within its piece.
  Result<CuAddress> address_of(const Place& place) const;

 private:
  struct Mapped {
    DevicePiece piece;
    DeviceMapping mapping;  // goes first
  };
  const CudaDriver& driver_;
  const CudaDeviceFacts& device_;
  std::map<std::size_t, Mapped> pieces_;
  std::size_t imported_ = 0;
};

}  // namespace specgen
