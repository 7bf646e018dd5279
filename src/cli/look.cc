#include "cli/look.h"

#include <fmt/core.h>
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/workbench.h"

namespace specgen {
namespace {

std::function<void(std::span<const std::string>, std::size_t)> reporter(ProgressLine& line) {
  return [&line](std::span<const std::string> awaited, std::size_t total) {
    if (awaited.empty()) return line.show({});
    line.show(fmt::format("checking this host: {} of {}, waiting for {}", total - awaited.size(),
                          total,
                          join(awaited.first(std::min<std::size_t>(awaited.size(), 2)), ", ")));
  };
}

}  // namespace

Result<HostReport> look_at_host(HostProbe probe) {
  ProgressLine line;
  probe.on_progress = reporter(line);
  return perform_at_workbench<HostReport>(
      [&](Workbench& bench) { return probe_host(bench.loop, bench.processes, std::move(probe)); });
}

}  // namespace specgen
