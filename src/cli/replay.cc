#include "cli/replay.h"

#include <fmt/format.h>

#include "cli/record.h"
#include "cli/terminal.h"
#include "cli/workbench.h"
#include "generate/cassette/cassette_format.h"
#include "generate/cassette/replayer.h"
#include "generate/http/http_server.h"

namespace specgen {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(500);

Task<void> show_progress(Loop& loop, const Replayer& replayer) {
  ProgressLine line;
  while (true) {
    const Replayer::Counts& counts = replayer.counts();
    line.show(fmt::format("answered {} exactly, {} from the nearest fork; not recorded: {}",
                          counts.exact, counts.nearest, counts.not_recorded));
    co_await loop.sleep(kProgressEvery);
  }
}

Task<Result<bool>> replay(Workbench& bench, Cassette cassette, ReplayCassette command, Pace pace) {
  std::string what = fmt::format("{} ({} exchanges{})", command.file, cassette.exchanges.size(),
                                 cassette.torn ? "; its last record is not whole, left out" : "");
  Replayer replayer(bench.loop, std::move(cassette), pace);
  auto server =
      CO_TRY(HttpServer::listen(bench.loop, bench.driver, command.listen, replayer.handler()));
  print_error(fmt::format("replaying {} at {}; Ctrl-C ends it", what,
                          shown_address(command.listen, server->port())));
  auto outcome = co_await race(server->serve(), show_progress(bench.loop, replayer));
  CO_TRY(std::move(*outcome.first()));
  co_return true;
}

}  // namespace

Result<ExitCode> replay_cassette(const ReplayCassette& command) {
  Pace pace = TRY(parse_pace(command.pace));
  Cassette cassette = TRY(read_cassette(command.file));
  TRY(perform_at_workbench<bool>(
      [&](Workbench& bench) { return replay(bench, std::move(cassette), command, pace); }));
  return ExitCode::done;
}

}  // namespace specgen
