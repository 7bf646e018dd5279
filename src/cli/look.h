#pragma once
// Looks at the host on a loop of its own, with a progress line. Ctrl-C (and SIGTERM, SIGHUP) ends
// it at once: the children with their descendants first, then this process, by the same signal.

#include "base/error.h"
#include "evaluate/host/host.h"

namespace specgen {

Result<HostReport> look_at_host(HostProbe probe);

}  // namespace specgen
