#include "cli/look.h"

#include <fmt/core.h>
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/terminal.h"
#include "runtime/interrupts.h"
#include "runtime/race.h"

namespace specgen {
namespace {

struct Looked {
  std::optional<Result<HostReport>> host;
  int signal = 0;  // instead
};

Task<Looked> look_or_end(Loop& loop, Processes& processes, Interrupts& interrupts,
                         HostProbe probe) {
  auto outcome = co_await race(probe_host(loop, processes, std::move(probe)), interrupts.next());
  Looked looked;
  if (auto* host = outcome.first()) looked.host = std::move(*host);
  if (auto* signal = outcome.second()) looked.signal = *signal;
  co_return looked;
}

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
  Looked looked;
  {
    ProgressLine line;
    probe.on_progress = reporter(line);
    RealDriver driver;
    Loop loop(driver);
    auto interrupts = TRY(Interrupts::open(loop, driver));
    Processes processes(loop, driver);
    looked = loop.run(look_or_end(loop, processes, *interrupts, std::move(probe)));
  }
  if (looked.signal != 0) end_by(looked.signal);
  return std::move(*looked.host);
}

}  // namespace specgen
