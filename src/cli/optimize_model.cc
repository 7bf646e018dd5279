#include "cli/optimize_model.h"

#include <fmt/core.h>

#include "cli/terminal.h"
#include "generate/author/author_model.h"
#include "generate/author/author_service.h"
#include "generate/cassette/cassette_writer.h"
#include "generate/cassette/recorder.h"
#include "generate/cassette/secrets.h"
#include "generate/http/http_client.h"
#include "generate/http/http_server.h"
#include "generate/open_model.h"
#include "generate/openai/endpoint_url.h"
#include "generate/openai/probe.h"
#include "generate/openai/server_profile.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

constexpr std::string_view kAnyPort = "127.0.0.1:0";
constexpr Duration kProbeLimit = std::chrono::seconds(120);  // each call
constexpr Duration kLookLimit = std::chrono::seconds(10);

bool is_author(std::string_view spec) {
  return spec == "author" || spec.starts_with("author:");
}
std::string_view pace_of(std::string_view author) {
  return author.substr(std::min(author.size(), std::string_view("author:").size()));
}

}  // namespace

// From the model to the server behind the recorder; what is used by others ends later.
struct RunModel::Parts {
  Parts(Workbench& bench, CallLedger& ledger)
      : services(bench.loop, bench.driver, ledger), serving(bench.loop) {}

  ModelServices services;
  std::unique_ptr<AuthorService> author;
  std::unique_ptr<HttpServer> author_server;
  std::unique_ptr<HttpClient> upstream;
  std::unique_ptr<CassetteWriter> writer;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<HttpServer> proxy;
  TaskGroup serving;
  std::unique_ptr<Model> model;
};

RunModel::RunModel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RunModel::~RunModel() = default;

Model& RunModel::model() {
  return *parts_->model;
}

Task<Result<std::unique_ptr<RunModel>>> RunModel::open(Workbench& bench, const Optimize& command,
                                                       const Settings& settings,
                                                       CallLedger& ledger) {
  auto parts = std::make_unique<Parts>(bench, ledger);
  Parts& p = *parts;
  if (command.record.empty()) {
    if (is_author(command.model)) {
      p.model = CO_TRY(open_author(bench.loop, pace_of(command.model), command.seed, &ledger));
    } else if (command.model.starts_with("cassette:")) {
      p.model = CO_TRY(open_model(p.services, command.model, settings.models));
    } else {
      auto server = CO_TRY(open_server_model(p.services, command.model, settings.models));
      // What a server can do is found out, not assumed; without forks there is nothing to find out.
      if (command.speculate && command.forks && !server->fork_is_set()) {
        print_error(fmt::format("trying what {} can do", command.model));
        ProbeReport report = co_await probe(bench.loop, *server, kProbeLimit);
        if (!report.usable()) print_error("forks may not work; see `specgen doctor --model`");
      } else {
        co_await identify_server(*server, kLookLimit);
      }
      p.model = std::move(server);
    }
    co_return std::unique_ptr<RunModel>(new RunModel(std::move(parts)));
  }

  NamedModel named;
  if (is_author(command.model)) {
    AuthorOptions options = CO_TRY(author_at_pace(pace_of(command.model)));
    options.seed = command.seed;
    p.author = std::make_unique<AuthorService>(bench.loop, options);
    p.author_server =
        CO_TRY(HttpServer::listen(bench.loop, bench.driver, std::string(kAnyPort),
                                  std::bind_front(&AuthorService::handle, p.author.get())));
    p.serving.spawn(p.author_server->serve());
    named.name = command.model;
    named.model = "author";
    named.url = fmt::format("http://127.0.0.1:{}/v1", p.author_server->port());
    named.profile = "specgen";
  } else {
    named = CO_TRY(find_server_model(command.model, settings.models));
    if (named.profile.empty()) named.profile = guess_profile(named.url).name;
  }
  EndpointUrl url = CO_TRY(parse_endpoint_url(named.url));
  p.upstream = CO_TRY(HttpClient::open(bench.loop, bench.driver));
  p.proxy = CO_TRY(HttpServer::listen(bench.loop, bench.driver, std::string(kAnyPort),
                                      [&p](HttpServerRequest request, HttpReply& reply) {
                                        return p.recorder->answer(std::move(request), reply);
                                      }));
  p.writer =
      CO_TRY(CassetteWriter::open(bench.loop, bench.driver, command.record, WriteMode::create));
  p.writer->session(harmless_url(url.base));
  p.recorder = std::make_unique<Recorder>(bench.loop, *p.upstream, *p.writer, url.origin);
  p.serving.spawn(p.proxy->serve());
  p.serving.spawn(p.writer->write_out());
  named.url =
      fmt::format("http://127.0.0.1:{}{}", p.proxy->port(), url.base.substr(url.origin.size()));
  p.model = CO_TRY(open_server_model(p.services, named.name, std::span(&named, 1)));
  co_return std::unique_ptr<RunModel>(new RunModel(std::move(parts)));
}

Task<Result<void>> RunModel::close() {
  if (!parts_->writer) co_return Result<void>();
  parts_->serving.cancel();
  co_return co_await parts_->writer->close();
}

}  // namespace specgen
