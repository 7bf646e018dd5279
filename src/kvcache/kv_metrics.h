#pragma once
// All counters of a KV node as text: for Prometheus and KV.STATS, and as the INFO that clients of Redis expect.

#include <string>

#include "kvcache/kv_service.h"

namespace specgen {

std::string metrics_text(const KvService& service);
std::string info_text(const KvService& service);

}  // namespace specgen
