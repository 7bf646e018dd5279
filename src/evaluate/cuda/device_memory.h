#pragma once
// Memory of a GPU by the driver's virtual memory management: physical pieces that can be shared
// with another process as a descriptor, and mappings of them into this process's GPU addresses with
// nothing mapped before and after. Each object owns what it made; every process that maps a piece
// keeps it allocated.

#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "evaluate/cuda/driver_api.h"

namespace specgen {

// A physical piece. Its size is a multiple of the granularity.
class DevicePiece {
 public:
  // With the driver's number, so that the caller can distinguish a full device from a broken one.
  struct Failed {
    CuResult code = 0;
    Error error;
  };
  static std::expected<DevicePiece, Failed> create(const CudaDriver& driver, int device,
                                                   std::size_t bytes);
  static Result<DevicePiece> import(const CudaDriver& driver, int descriptor, std::size_t bytes);

  DevicePiece(DevicePiece&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        handle_(other.handle_),
        bytes_(other.bytes_) {}
  DevicePiece& operator=(DevicePiece&&) = delete;
  ~DevicePiece();

  Result<Fd> share() const;  // only a piece that we created
  std::size_t bytes() const { return bytes_; }
  CuMemoryHandle handle() const { return handle_; }

 private:
  DevicePiece(const CudaDriver& driver, CuMemoryHandle handle, std::size_t bytes)
      : driver_(&driver), handle_(handle), bytes_(bytes) {}
  const CudaDriver* driver_;
  CuMemoryHandle handle_;
  std::size_t bytes_;
};

// A piece in this process's addresses, with at least `gap` unmapped bytes on both sides.
class DeviceMapping {
 public:
  static Result<DeviceMapping> map(const CudaDriver& driver, int device, const DevicePiece& piece,
                                   bool writable, std::size_t gap);

  DeviceMapping(DeviceMapping&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        reserved_(other.reserved_),
        reserved_bytes_(other.reserved_bytes_),
        address_(other.address_),
        bytes_(other.bytes_) {}
  DeviceMapping& operator=(DeviceMapping&&) = delete;
  ~DeviceMapping();

  CuAddress address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  DeviceMapping(const CudaDriver& driver, CuAddress reserved, std::size_t reserved_bytes)
      : driver_(&driver), reserved_(reserved), reserved_bytes_(reserved_bytes) {}
  const CudaDriver* driver_;
  CuAddress reserved_;
  std::size_t reserved_bytes_;
  CuAddress address_ = 0;  // 0: nothing is mapped yet
  std::size_t bytes_ = 0;
};

// Memory that only this process sees.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> create(const CudaDriver& driver, const CudaDeviceFacts& device,
                                     std::size_t bytes);
  CuAddress address() const { return mapping_.address(); }
  std::size_t bytes() const { return piece_.bytes(); }

 private:
  DeviceBuffer(DevicePiece piece, DeviceMapping mapping)
      : piece_(std::move(piece)), mapping_(std::move(mapping)) {}
  DevicePiece piece_;
  DeviceMapping mapping_;
};

inline std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

// The offset of a tensor in its piece, at the end or at the start.
inline constexpr std::size_t kTensorAlignment = 256;  // as of cudaMalloc
std::size_t place_in_piece(std::size_t piece_bytes, std::size_t bytes, bool at_the_end);

// The number of sets of this size that rotation needs to clear the caches, limited by memory.
std::size_t cuda_sets_for(std::uint64_t footprint, std::uint64_t l2_bytes,
                          std::uint64_t memory_bytes);

}  // namespace specgen
