#include "evaluate/cuda/executor_memory.h"

#include <fmt/core.h>

namespace specgen {

Result<void> ExecutorMemory::import(const ImportRequest& request, std::span<const Fd> descriptors) {
  if (descriptors.size() != request.pieces.size()) {
    return fail(ErrorCode::bad_message, fmt::format("{} pieces came with {} descriptors",
                                                    request.pieces.size(), descriptors.size()));
  }
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const auto& piece = request.pieces[i];
    if (piece.bytes == 0 || piece.bytes % device_.granularity != 0) {
      return fail(ErrorCode::bad_message, fmt::format("a piece of {} bytes is no multiple of {}",
                                                      piece.bytes, device_.granularity));
    }
    DevicePiece imported = TRY(DevicePiece::import(driver_, descriptors[i].get(), piece.bytes));
    DeviceMapping mapping = TRY(
        DeviceMapping::map(driver_, device_.handle, imported, piece.writable, device_.granularity));
    pieces_.emplace_back(std::move(imported), std::move(mapping));
  }
  return {};
}

void ExecutorMemory::clear() {
  pieces_.clear();
}

Result<CuAddress> ExecutorMemory::address_of(const Place& place) const {
  if (place.piece >= pieces_.size()) {
    return fail(ErrorCode::bad_message, fmt::format("there is no piece {}", place.piece));
  }
  const DeviceMapping& mapping = pieces_[place.piece].mapping;
  if (place.offset > mapping.bytes() || place.bytes > mapping.bytes() - place.offset) {
    return fail(ErrorCode::bad_message, fmt::format("{} bytes at {} do not lie in a piece of {}",
                                                    place.bytes, place.offset, mapping.bytes()));
  }
  return mapping.address() + place.offset;
}

}  // namespace specgen
