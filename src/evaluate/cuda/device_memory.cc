#include "evaluate/cuda/device_memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/assert.h"

namespace specgen {

std::expected<DevicePiece, DevicePiece::Failed> DevicePiece::create(const CudaDriver& driver,
                                                                    int device, std::size_t bytes) {
  CuAllocationProperties properties{.requested_handle_types = kCuPosixFileDescriptor,
                                    .location = {.id = device}};
  CuMemoryHandle handle = 0;
  CuResult code = driver.mem_create(&handle, bytes, &properties, 0);
  if (auto checked = driver.check(code, fmt::format("cuMemCreate of {} bytes", bytes)); !checked) {
    return std::unexpected(Failed{.code = code, .error = std::move(checked).error()});
  }
  return DevicePiece(driver, handle, bytes);
}

Result<DevicePiece> DevicePiece::import(const CudaDriver& driver, int descriptor,
                                        std::size_t bytes) {
  CuMemoryHandle handle = 0;
  // The driver expects the number itself where a pointer is declared.
  auto* as_pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  TRY(driver.check(driver.mem_import(&handle, as_pointer, kCuPosixFileDescriptor),
                   fmt::format("cuMemImportFromShareableHandle of {} bytes", bytes)));
  return DevicePiece(driver, handle, bytes);
}

DevicePiece::~DevicePiece() {
  if (driver_) driver_->mem_release(handle_);
}

Result<Fd> DevicePiece::share() const {
  int descriptor = -1;
  TRY(driver_->check(driver_->mem_export(&descriptor, handle_, kCuPosixFileDescriptor, 0),
                     fmt::format("cuMemExportToShareableHandle of {} bytes", bytes_)));
  return Fd(descriptor);
}

Result<DeviceMapping> DeviceMapping::map(const CudaDriver& driver, int device,
                                         const DevicePiece& piece, bool writable, std::size_t gap) {
  CuAddress reserved = 0;
  std::size_t reserved_bytes = piece.bytes() + 2 * gap;
  TRY(driver.check(driver.mem_address_reserve(&reserved, reserved_bytes, 0, 0, 0),
                   fmt::format("cuMemAddressReserve of {} bytes", reserved_bytes)));
  DeviceMapping mapping(driver, reserved, reserved_bytes);
  CuAddress address = reserved + gap;
  TRY(driver.check(driver.mem_map(address, piece.bytes(), 0, piece.handle(), 0),
                   fmt::format("cuMemMap of {} bytes at {:#x}", piece.bytes(), address)));
  mapping.address_ = address;
  mapping.bytes_ = piece.bytes();
  CuAccess access{.location = {.id = device}, .flags = writable ? kCuReadWrite : kCuRead};
  TRY(driver.check(driver.mem_set_access(address, piece.bytes(), &access, 1),
                   fmt::format("cuMemSetAccess {} of {} bytes at {:#x}",
                               writable ? "read-write" : "read-only", piece.bytes(), address)));
  return mapping;
}

DeviceMapping::~DeviceMapping() {
  if (!driver_) return;
  if (address_ != 0) driver_->mem_unmap(address_, bytes_);
  driver_->mem_address_free(reserved_, reserved_bytes_);
}

Result<DeviceBuffer> DeviceBuffer::create(const CudaDriver& driver, const CudaDeviceFacts& device,
                                          std::size_t bytes) {
  auto piece = DevicePiece::create(driver, device.handle,
                                   round_up(std::max<std::size_t>(bytes, 1), device.granularity));
  if (!piece) return std::unexpected(std::move(piece.error().error));
  DeviceMapping mapping = TRY(DeviceMapping::map(driver, device.handle, *piece, true, 0));
  return DeviceBuffer(std::move(*piece), std::move(mapping));
}

std::size_t place_in_piece(std::size_t piece_bytes, std::size_t bytes, bool at_the_end) {
  SG_ASSERT(bytes <= piece_bytes, "a tensor is larger than its memory");
  return at_the_end ? (piece_bytes - bytes) / kTensorAlignment * kTensorAlignment : 0;
}

std::size_t cuda_sets_for(std::uint64_t footprint, std::uint64_t l2_bytes,
                          std::uint64_t memory_bytes) {
  constexpr std::uint64_t kMinSets = 4;  // for enough samples per round
  constexpr std::uint64_t kMax =
      12;  // beyond that flushing the cache is cheaper than mapping more memory
  footprint = std::max<std::uint64_t>(footprint, 1);
  std::uint64_t cold = (3 * l2_bytes + footprint - 1) / footprint + 1;
  // The baseline's outputs are stored as well, and scratch needs memory.
  std::uint64_t fits = std::max<std::uint64_t>(memory_bytes / 3 / footprint, 1);
  return static_cast<std::size_t>(std::min(std::clamp(cold, kMinSets, kMax), fits));
}

}  // namespace specgen
