#pragma once
// Moves a value between the host and a device, through the ring of pinned buffers: while one is being filled or
// emptied by the processor, the others are on their way. Not for two threads at once.

#include <cstddef>
#include <functional>
#include <span>

#include "kvcache/device_blocks.h"
#include "kvcache/device_pool.h"

namespace specgen {

// Both return false when the other side stopped it; either way nothing is on its way any more.
// `fill` writes the value's bytes from an offset, `take` reads them; false stops.
Result<bool> copy_to_device(
    DeviceBlocks& device, const DeviceSpace& space, std::size_t bytes,
    const std::function<bool(std::size_t offset, std::span<char> room)>& fill);
Result<bool> copy_from_device(
    DeviceBlocks& device, const DeviceSpace& space, std::size_t bytes,
    const std::function<bool(std::size_t offset, std::span<const char> piece)>& take);

}  // namespace specgen
