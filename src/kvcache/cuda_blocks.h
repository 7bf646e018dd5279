#pragma once
// Blocks of a GPU's memory by the driver's virtual memory management: unmapping one does not wait for the device,
// unlike freeing. Holds the device's primary context.

#include <memory>

#include "base/units.h"
#include "kvcache/device_blocks.h"

namespace specgen {

// device_missing without a GPU or a driver.
Result<std::unique_ptr<DeviceBlocks>> open_cuda_blocks(int device, Bytes max);

}  // namespace specgen
