#pragma once
// Which devices of this host are to be used: `auto`, or a list such as `cpu:0,cuda:1`. CPU devices are sets of
// cores: cpu:0 is all but the first, cpu:4-7 are those four, so that `cpu:1-3,cpu:4-6` is two devices. What is
// badly written is the user's fault (exit 2), what this host lacks the host's (exit 3).

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/host/host.h"
#include "evaluate/node/node.h"

namespace specgen {

// The names, as they stand there; none for `auto`. bad_usage, which names the word, if it is no list of devices.
Result<std::vector<std::string>> parse_device_list(std::string_view text);

// What `auto` means here: cpu:0 and every GPU that can be compiled for.
std::vector<NodeDevice> usable_devices(const HostReport& host);

// All that are usable if none is named. device_missing for one that is not there, bad_usage for two
// that share a core. `cores`: those that may be used.
Result<std::vector<NodeDevice>> choose_devices(const HostReport& host,
                                               const std::vector<std::string>& names,
                                               const std::vector<int>& cores);

// Cores that belong to one of the devices: nothing else should run there.
std::vector<int> cores_of_devices(const std::vector<NodeDevice>& devices,
                                  const std::vector<int>& cores);

}  // namespace specgen
