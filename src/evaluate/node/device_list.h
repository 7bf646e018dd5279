#pragma once
// Which devices of this host to use: `auto`, or a list such as `cpu:0,cuda:1`. CPU devices are sets of cores: cpu:0 is
// all but the first, cpu:4-7 are those four, so `cpu:1-3,cpu:4-6` are two devices. A malformed list is bad_usage (exit
// code 2), a device that this host lacks is device_missing (3).

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/host/host.h"
#include "evaluate/node/node.h"

namespace specgen {

// The names in the list; none for `auto`.
Result<std::vector<std::string>> parse_device_list(std::string_view text);

// `auto` on this host: cpu:0 and every GPU that can be compiled for.
std::vector<NodeDevice> usable_devices(const HostReport& host);

// All usable devices if none is named. bad_usage if two share a core. `cores`: those that may be used.
Result<std::vector<NodeDevice>> choose_devices(const HostReport& host,
                                               const std::vector<std::string>& names,
                                               const std::vector<int>& cores);

// The cores of all devices: nothing else should run there.
std::vector<int> cores_of_devices(const std::vector<NodeDevice>& devices,
                                  const std::vector<int>& cores);

}  // namespace specgen
