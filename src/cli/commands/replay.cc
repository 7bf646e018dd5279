#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command_loop.h"
#include "cli/terminal.h"
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

Task<Result<bool>> replay(CommandLoop& command, Cassette cassette, std::string file,
                          std::string listen, Pace pace) {
  std::string what = fmt::format("{} ({} exchanges{})", file, cassette.exchanges.size(),
                                 cassette.torn ? "; its last record is incomplete, left out" : "");
  Replayer replayer(command.loop, std::move(cassette), pace);
  auto server =
      CO_TRY(HttpServer::listen(command.loop, command.driver, listen, replayer.handler()));
  print_error(fmt::format("replaying {} at http://{}:{}; Ctrl-C ends it", what,
                          listen.substr(0, listen.rfind(':')), server->port()));
  auto outcome = co_await race(server->serve(), show_progress(command.loop, replayer));
  CO_TRY(std::move(*outcome.first()));
  co_return true;
}

class ReplayCommand : public CliCommand {
 public:
  explicit ReplayCommand(CLI::App& app) {
    app.add_option("FILE", file_, "the cassette")->required();
    app.add_option("--listen", listen_, "where to listen; port 0: any free one")
        ->type_name("HOST:PORT")
        ->required();
    app.add_option("--pace", pace_, "original (default), instant, or a factor such as 10x")
        ->type_name("P");
  }

  Result<ExitCode> run(const CommandContext&) override {
    Pace pace = TRY(parse_pace(pace_));
    Cassette cassette = TRY(read_cassette(file_));
    TRY(run_on_loop<bool>([&](CommandLoop& command) {
      return replay(command, std::move(cassette), file_, listen_, pace);
    }));
    return ExitCode::done;
  }

 private:
  std::string file_;
  std::string listen_;
  std::string pace_ = "original";
};

}  // namespace

AddedCommand add_replay_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "replay",
      "answer from a cassette, as the recorded server did\n\n"
      "The header x-specgen-replay of an answer says whether it is exact, or that of the nearest\n"
      "recorded fork. No key is needed.");
  return {app, std::make_unique<ReplayCommand>(*app)};
}

}  // namespace specgen
