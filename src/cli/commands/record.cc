#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_loop.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "generate/cassette/recorder.h"
#include "generate/cassette/secrets.h"
#include "generate/http/http_client.h"
#include "generate/http/http_server.h"

namespace specgen {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(500);

// "http://127.0.0.1:8080" of "127.0.0.1:0" and the port that was free.
std::string address_text(std::string_view listen, int port) {
  return fmt::format("http://{}:{}", listen.substr(0, listen.rfind(':')), port);
}

std::string progress(const Recorder& recorder, const CassetteWriter& writer) {
  const Recorder::Counts& counts = recorder.counts();
  return fmt::format("{} exchanges: {} open, {} complete, {} cancelled, {} failed; {}",
                     writer.exchanges(), counts.open, counts.complete, counts.cancelled,
                     counts.failed, format_bytes(writer.size()));
}

Task<void> show_progress(Loop& loop, const Recorder& recorder, const CassetteWriter& writer) {
  ProgressLine line;
  while (true) {
    line.show(progress(recorder, writer));
    co_await loop.sleep(kProgressEvery);
  }
}

struct RecordOptions {
  std::string listen;
  std::string upstream;
  std::string out;
  bool append = false;
};

// Records until it is interrupted, and returns the signal. What is open then is recorded as cancelled, and the file is
// complete on the disk.
Task<Result<int>> record(CommandLoop& command, Interrupts& interrupts, RecordOptions options,
                         std::string upstream) {
  std::unique_ptr<Recorder> recorder;
  auto client = CO_TRY(HttpClient::open(command.loop, command.driver));
  // Before the file: none is created for a recording that cannot start.
  auto server = CO_TRY(HttpServer::listen(command.loop, command.driver, options.listen,
                                          [&recorder](HttpServerRequest request, HttpReply& reply) {
                                            return recorder->answer(std::move(request), reply);
                                          }));
  auto writer =
      CO_TRY(CassetteWriter::open(command.loop, command.driver, options.out,
                                  options.append ? WriteMode::append : WriteMode::create));
  writer->session(harmless_url(upstream));
  recorder = std::make_unique<Recorder>(command.loop, *client, *writer, upstream);
  print_error(fmt::format("recording {} at {} into {}; Ctrl-C ends it", harmless_url(upstream),
                          address_text(options.listen, server->port()), options.out));
  auto outcome = co_await race(interrupts.next(), server->serve(), writer->write_out(),
                               show_progress(command.loop, *recorder, *writer));
  if (auto* disk = outcome.get<2>()) co_return std::unexpected(std::move(*disk).error());
  CO_TRY(co_await writer->close());
  print_error(fmt::format("recorded {}", progress(*recorder, *writer)));
  if (auto* served = outcome.get<1>()) co_return std::unexpected(std::move(*served).error());
  co_return *outcome.get<0>();
}

class RecordCommand : public CliCommand {
 public:
  explicit RecordCommand(CLI::App& app) {
    app.add_option("--listen", options_.listen, "where clients connect; port 0: any free one")
        ->type_name("HOST:PORT")
        ->required();
    app.add_option("--upstream", options_.upstream, "the server, such as http://127.0.0.1:8000/v1")
        ->type_name("URL")
        ->required();
    app.add_option("--out", options_.out, "the cassette; an existing file is not overwritten")
        ->type_name("FILE")
        ->required();
    add_flag(app, "--append", options_.append, "append to an existing cassette");
  }

  Result<ExitCode> run(const CommandContext&) override {
    std::string upstream = TRY(parse_upstream(options_.upstream));
    int signal = 0;
    {
      CommandLoop command;
      auto interrupts = TRY(Interrupts::open(command.loop, command.driver));
      signal = TRY(command.loop.run(record(command, *interrupts, options_, std::move(upstream))));
    }
    end_by(signal);
  }

 private:
  RecordOptions options_;
};

}  // namespace

AddedCommand add_record_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "record",
      "record the traffic of a model's server into a cassette, as a proxy in front of it\n\n"
      "Point a client at http://HOST:PORT instead of the server; Ctrl-C ends the recording. Keys "
      "are\n"
      "forwarded and not recorded. docs/reference/cassettes.md has the format.");
  return {app, std::make_unique<RecordCommand>(*app)};
}

}  // namespace specgen
