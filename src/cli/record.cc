#include "cli/record.h"

#include <fmt/format.h>

#include <memory>

#include "cli/terminal.h"
#include "cli/workbench.h"
#include "generate/cassette/recorder.h"
#include "generate/cassette/secrets.h"
#include "generate/http/http_client.h"
#include "generate/http/http_server.h"

namespace specgen {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(500);

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

// The signal that ended it.
Task<Result<int>> record(Workbench& bench, Interrupts& interrupts, RecordCassette command,
                         std::string upstream) {
  std::unique_ptr<Recorder> recorder;
  auto client = CO_TRY(HttpClient::open(bench.loop, bench.driver));
  // Before the file: none is made for a recording that cannot begin.
  auto server = CO_TRY(HttpServer::listen(bench.loop, bench.driver, command.listen,
                                          [&recorder](HttpServerRequest request, HttpReply& reply) {
                                            return recorder->answer(std::move(request), reply);
                                          }));
  auto writer =
      CO_TRY(CassetteWriter::open(bench.loop, bench.driver, command.out,
                                  command.append ? WriteMode::append : WriteMode::create));
  writer->session(harmless_url(upstream));
  recorder = std::make_unique<Recorder>(bench.loop, *client, *writer, upstream);
  print_error(fmt::format("recording {} at {} into {}; Ctrl-C ends it", harmless_url(upstream),
                          shown_address(command.listen, server->port()), command.out));
  auto outcome = co_await race(interrupts.next(), server->serve(), writer->write_out(),
                               show_progress(bench.loop, *recorder, *writer));
  if (auto* disk = outcome.get<2>()) co_return std::unexpected(std::move(*disk).error());
  CO_TRY(co_await writer->close());
  print_error(fmt::format("recorded {}", progress(*recorder, *writer)));
  if (auto* served = outcome.get<1>()) co_return std::unexpected(std::move(*served).error());
  co_return *outcome.get<0>();
}

}  // namespace

std::string shown_address(std::string_view listen, int port) {
  return fmt::format("http://{}:{}", listen.substr(0, listen.rfind(':')), port);
}

Result<ExitCode> record_cassette(const RecordCassette& command) {
  std::string upstream = TRY(parse_upstream(command.upstream));
  int signal = 0;
  {
    Workbench bench;
    auto interrupts = TRY(Interrupts::open(bench.loop, bench.driver));
    signal = TRY(bench.loop.run(record(bench, *interrupts, command, std::move(upstream))));
  }
  end_by(signal);
}

}  // namespace specgen
