#pragma once
// All that a KV node counts, as text: for Prometheus (and KV.STATS), and as the INFO that Redis' clients know.

#include <string>

#include "kvcache/kv_service.h"

namespace specgen {

std::string metrics_text(const KvService& service);
std::string info_text(const KvService& service);

}  // namespace specgen
