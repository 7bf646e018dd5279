#include "evaluate/cuda/executor_memory.h"

#include <fmt/core.h>

#include <algorithm>

namespace specgen {

Result<void> ExecutorMemory::import(const ImportRequest& request, std::span<const Fd> descriptors) {
  if (descriptors.size() != request.pieces.size()) {
    return fail(ErrorCode::bad_message, fmt::format("{} pieces came with {} descriptors",
                                                    request.pieces.size(), descriptors.size()));
  }
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const auto& piece = request.pieces[i];
    if (piece.bytes == 0 || piece.bytes % device_.granularity != 0) {
      return fail(ErrorCode::bad_message, fmt::format("a piece of {} bytes is not a multiple of {}",
                                                      piece.bytes, device_.granularity));
    }
    DevicePiece imported = TRY(DevicePiece::import(driver_, descriptors[i].get(), piece.bytes));
    DeviceMapping mapping = TRY(
        DeviceMapping::map(driver_, device_.handle, imported, piece.writable, device_.granularity));
    pieces_.try_emplace(imported_++, std::move(imported), std::move(mapping));
  }
  return {};
}

void ExecutorMemory::clear_except(std::span<const std::size_t> keep) {
  std::erase_if(pieces_, [&](const auto& piece) {
    return std::ranges::find(keep, piece.first) == keep.end();
  });
}

Result<CuAddress> ExecutorMemory::address_of(const Place& place) const {
  auto found = pieces_.find(place.piece);
  if (found == pieces_.end()) {
    return fail(ErrorCode::bad_message, fmt::format("there is no piece {}", place.piece));
  }
  const DeviceMapping& mapping = found->second.mapping;
  if (place.offset > mapping.bytes() || place.bytes > mapping.bytes() - place.offset) {
    return fail(ErrorCode::bad_message, fmt::format("{} bytes at {} are not within a piece of {}",
                                                    place.bytes, place.offset, mapping.bytes()));
  }
  return mapping.address() + place.offset;
}

}  // namespace specgen
