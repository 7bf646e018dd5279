#pragma once
// Memory of a device as the KV cache uses it: one range of addresses in which blocks of 64 MiB are mapped and
// unmapped, and a ring of pinned buffers for copies. The interface between the device tier and the driver:
// CudaBlocks on a GPU, plain memory in tests.
//
// Not thread-safe; the device tier serialises calls.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"

namespace specgen {

class DeviceBlocks {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 20;
  static constexpr std::size_t kBuffers = 4;
  static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

  virtual ~DeviceBlocks() = default;

  virtual Result<void> make(std::uint32_t block) = 0;
  virtual void drop(std::uint32_t block) = 0;

  virtual std::span<char> buffer(std::size_t number) = 0;
  // Start a copy between a buffer and the device; wait() returns when all copies of this buffer are done.
  virtual Result<void> copy_in(std::size_t buffer, std::size_t at, std::uint64_t to,
                               std::size_t bytes) = 0;
  virtual Result<void> copy_out(std::size_t buffer, std::size_t at, std::uint64_t from,
                                std::size_t bytes) = 0;
  virtual Result<void> wait(std::size_t buffer) = 0;
};

}  // namespace specgen
