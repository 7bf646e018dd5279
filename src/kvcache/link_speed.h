#pragma once
// Measures how fast values of a node arrive here, with test values that are deleted again. Blocks for well under a
// second on any useful link.

#include <optional>

#include "base/error.h"
#include "kvcache/node_client.h"

namespace specgen {

struct LinkSpeed {
  double set_bytes_per_s = 0;
  std::optional<double>
      get_bytes_per_s;  // nothing: the node stored none of them, as it has no free memory
};

Result<LinkSpeed> measure_link(NodeClient& node);

// TCP over loopback on this host, sender and receiver on one core: a lower bound for a local node.
Result<double> loopback_bytes_per_s();

}  // namespace specgen
