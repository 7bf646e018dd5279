#pragma once
// How fast a node's values come here, measured with some of our own, which are deleted again. Blocks for well under
// a second on any link that is worth having.

#include <optional>

#include "base/error.h"
#include "kvcache/node_client.h"

namespace specgen {

struct LinkSpeed {
  double set_bytes_per_s = 0;
  std::optional<double>
      get_bytes_per_s;  // nothing: the node kept none of them, it has no memory to lend now
};

Result<LinkSpeed> measure_link(NodeClient& node);

// This host's own TCP over loopback, sender and receiver on one core: what a node here has at least.
Result<double> loopback_bytes_per_s();

}  // namespace specgen
