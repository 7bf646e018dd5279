#pragma once
// Moves a value between host and device through the ring of pinned buffers: while the processor fills or empties
// one, the others are being copied. Not thread-safe.

#include <cstddef>
#include <functional>
#include <span>

#include "kvcache/device_blocks.h"
#include "kvcache/device_pool.h"

namespace specgen {

// `fill` writes the bytes of the value from an offset, `take` reads them; returning false stops the copy, which then
// returns false too. No copy is pending afterwards.
Result<bool> copy_to_device(
    DeviceBlocks& device, const DeviceSpace& space, std::size_t bytes,
    const std::function<bool(std::size_t offset, std::span<char> buffer)>& fill);
Result<bool> copy_from_device(
    DeviceBlocks& device, const DeviceSpace& space, std::size_t bytes,
    const std::function<bool(std::size_t offset, std::span<const char> piece)>& take);

}  // namespace specgen
