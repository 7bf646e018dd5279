#pragma once
// The counters over plain HTTP for Prometheus: GET /metrics, one request per connection. Keeps an HTTP server out of
// the node.

#include "base/file.h"
#include "kvcache/kv_service.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/task.h"

namespace specgen {

// Serves a listening socket until cancelled.
Task<void> serve_metrics(Loop& loop, RealDriver& driver, Fd listening, const KvService& service);

}  // namespace specgen
