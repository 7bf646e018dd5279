#pragma once
// The counters over plain HTTP, for Prometheus: GET /metrics, one answer to a connection, and nothing else. A node
// links no HTTP server; this much of one it needs.

#include "base/file.h"
#include "kvcache/kv_service.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/task.h"

namespace specgen {

// On a listening socket, until cancelled.
Task<void> serve_metrics(Loop& loop, RealDriver& driver, Fd listening, const KvService& service);

}  // namespace specgen
