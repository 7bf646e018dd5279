#pragma once
// The KV store as the lender of an evaluation host's memory: what a job needs and the host does not have free is asked
// back from the store before the job runs, and lent again when the node lets go of it.

#include <memory>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "evaluate/node/memory_provider.h"
#include "kvcache/kv_reclaim.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"

namespace specgen {

// `job_memory`: what a job may need.
std::unique_ptr<MemoryProvider> lend_from(Loop& loop, RealDriver& driver, KvReclaim& reclaim,
                                          Bytes job_memory);

// 1 of "cuda:1"; nothing of "cpu:0".
std::optional<int> gpu_number(std::string_view device);

// What the system says could be used without anybody's loss: MemAvailable of a text like /proc/meminfo.
Bytes available_in(std::string_view meminfo);

}  // namespace specgen
