#pragma once
// Provides the memory of an evaluation host to its jobs: before a job runs, memory that it needs and the host does
// not have free is reclaimed from the KV store; it returns to the store when the node releases it.

#include <memory>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "evaluate/node/memory_provider.h"
#include "kvcache/kv_reclaim.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"

namespace specgen {

// `job_memory`: the most that a job may need.
std::unique_ptr<MemoryProvider> make_memory_provider(Loop& loop, RealDriver& driver,
                                                     KvReclaim& reclaim, Bytes job_memory);

// 1 of "cuda:1"; nothing of "cpu:0".
std::optional<int> gpu_number(std::string_view device);

// MemAvailable in the text of /proc/meminfo.
Bytes available_in(std::string_view meminfo);

}  // namespace specgen
