#include "kvcache/device_ring.h"

#include <algorithm>

namespace specgen {
namespace {

constexpr std::size_t kPiece = DeviceBlocks::kBufferBytes;
constexpr std::size_t kBuffers = DeviceBlocks::kBuffers;

std::size_t pieces_of(std::size_t bytes) {
  return (bytes + kPiece - 1) / kPiece;
}

// A buffer must not be reused before its copies have ended, even failed ones.
struct AllDone {
  DeviceBlocks& device;
  ~AllDone() {
    for (std::size_t buffer = 0; buffer < kBuffers; ++buffer) {
      (void)device.wait(buffer);  // the first wait has reported a failure
    }
  }
};

}  // namespace

Result<bool> copy_to_device(
    DeviceBlocks& device, const DeviceSpace& space, std::size_t bytes,
    const std::function<bool(std::size_t offset, std::span<char> target)>& fill) {
  AllDone all_done{device};
  for (std::size_t piece = 0; piece < pieces_of(bytes); ++piece) {
    const std::size_t buffer = piece % kBuffers, offset = piece * kPiece;
    const std::size_t count = std::min(kPiece, bytes - offset);
    if (piece >= kBuffers) TRY(device.wait(buffer));
    if (!fill(offset, device.buffer(buffer).first(count))) return false;
    std::size_t at = 0;
    for (const DeviceSpace::Extent& extent : space.extents(offset, count)) {
      TRY(device.copy_in(buffer, at, extent.at, extent.bytes));
      at += extent.bytes;
    }
  }
  for (std::size_t buffer = 0; buffer < std::min(kBuffers, pieces_of(bytes)); ++buffer) {
    TRY(device.wait(buffer));
  }
  return true;
}

Result<bool> copy_from_device(
    DeviceBlocks& device, const DeviceSpace& space, std::size_t bytes,
    const std::function<bool(std::size_t offset, std::span<const char> piece)>& take) {
  AllDone all_done{device};
  auto begin = [&](std::size_t piece) -> Result<void> {
    const std::size_t offset = piece * kPiece;
    std::size_t at = 0;
    for (const auto& extent : space.extents(offset, std::min(kPiece, bytes - offset))) {
      TRY(device.copy_out(piece % kBuffers, at, extent.at, extent.bytes));
      at += extent.bytes;
    }
    return {};
  };
  const std::size_t pieces = pieces_of(bytes);
  for (std::size_t piece = 0; piece < std::min(kBuffers, pieces); ++piece) TRY(begin(piece));
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t buffer = piece % kBuffers, offset = piece * kPiece;
    TRY(device.wait(buffer));
    if (!take(offset, device.buffer(buffer).first(std::min(kPiece, bytes - offset)))) return false;
    if (piece + kBuffers < pieces) TRY(begin(piece + kBuffers));
  }
  return true;
}

}  // namespace specgen
