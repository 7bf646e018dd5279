#pragma once
// Blocks of a GPU's memory by the driver's virtual memory management: unmapping one does not wait for the device, as
// freeing does. Owns the device's primary context for as long as it lives.

#include <memory>

#include "base/units.h"
#include "kvcache/device_blocks.h"

namespace specgen {

// device_missing without a GPU or a driver.
Result<std::unique_ptr<DeviceBlocks>> open_cuda_blocks(int device, Bytes most);

}  // namespace specgen
