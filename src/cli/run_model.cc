#include "cli/run_model.h"

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
constexpr Duration kIdentifyLimit = std::chrono::seconds(10);

std::string_view pace_of(std::string_view author) {
  return author.substr(std::min(author.size(), std::string_view("author:").size()));
}

}  // namespace

bool is_author(std::string_view model) {
  return model == "author" || model.starts_with("author:");
}

// From the model to the server behind the recorder. Members are destroyed in reverse: what others use comes first.
struct RunModel::Parts {
  Parts(CommandLoop& its_command, CallLedger& its_ledger)
      : command(its_command),
        ledger(its_ledger),
        services(command.loop, command.driver, ledger),
        serving(command.loop) {}

  Task<Result<void>> open(const SearchOptions& options, const Settings& settings);
  Task<Result<void>> open_recorded(const SearchOptions& options, const Settings& settings);
  Result<NamedModel> serve_author(const SearchOptions& options);

  CommandLoop& command;
  CallLedger& ledger;
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

Task<Result<void>> RunModel::Parts::open(const SearchOptions& options, const Settings& settings) {
  if (is_author(options.model)) {
    model = CO_TRY(open_author(command.loop, pace_of(options.model), options.seed, &ledger));
    co_return Result<void>();
  }
  if (options.model.starts_with("cassette:")) {
    model = CO_TRY(open_model(services, options.model, settings.models));
    co_return Result<void>();
  }
  auto server = CO_TRY(open_server_model(services, options.model, settings.models));
  // How to fork is found by trying; without forks there is nothing to try.
  if (options.speculate && options.forks && !server->fork_is_set()) {
    print_error(fmt::format("probing {}", options.model));
    ProbeReport report = co_await probe(command.loop, *server, kProbeLimit);
    if (!report.usable()) print_error("forks may not work; see `specgen doctor --model`");
  } else {
    co_await identify_server(*server, kIdentifyLimit);
  }
  model = std::move(server);
  co_return Result<void>();
}

// The author behind HTTP, so that its answers can be recorded like those of a server.
Result<NamedModel> RunModel::Parts::serve_author(const SearchOptions& options) {
  AuthorOptions author_options = TRY(author_at_pace(pace_of(options.model)));
  author_options.seed = options.seed;
  author = std::make_unique<AuthorService>(command.loop, author_options);
  author_server = TRY(HttpServer::listen(command.loop, command.driver, std::string(kAnyPort),
                                         std::bind_front(&AuthorService::handle, author.get())));
  serving.spawn(author_server->serve());
  NamedModel named;
  named.name = options.model;
  named.model = "author";
  named.url = fmt::format("http://127.0.0.1:{}/v1", author_server->port());
  named.profile = "specgen";
  return named;
}

Task<Result<void>> RunModel::Parts::open_recorded(const SearchOptions& options,
                                                  const Settings& settings) {
  NamedModel named =
      CO_TRY(is_author(options.model) ? serve_author(options)
                                      : find_server_model(options.model, settings.models));
  if (named.profile.empty()) named.profile = guess_profile(named.url).name;
  EndpointUrl url = CO_TRY(parse_endpoint_url(named.url));
  upstream = CO_TRY(HttpClient::open(command.loop, command.driver));
  proxy = CO_TRY(HttpServer::listen(command.loop, command.driver, std::string(kAnyPort),
                                    [this](HttpServerRequest request, HttpReply& reply) {
                                      return recorder->answer(std::move(request), reply);
                                    }));
  writer =
      CO_TRY(CassetteWriter::open(command.loop, command.driver, options.record, WriteMode::create));
  writer->session(harmless_url(url.base));
  recorder = std::make_unique<Recorder>(command.loop, *upstream, *writer, url.origin);
  serving.spawn(proxy->serve());
  serving.spawn(writer->write_out());
  named.url =
      fmt::format("http://127.0.0.1:{}{}", proxy->port(), url.base.substr(url.origin.size()));
  model = CO_TRY(open_server_model(services, named.name, std::span(&named, 1)));
  co_return Result<void>();
}

RunModel::RunModel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RunModel::~RunModel() = default;

Model& RunModel::model() {
  return *parts_->model;
}

Task<Result<std::unique_ptr<RunModel>>> RunModel::open(CommandLoop& command,
                                                       const SearchOptions& options,
                                                       const Settings& settings,
                                                       CallLedger& ledger) {
  auto parts = std::make_unique<Parts>(command, ledger);
  CO_TRY(options.record.empty() ? co_await parts->open(options, settings)
                                : co_await parts->open_recorded(options, settings));
  co_return std::unique_ptr<RunModel>(new RunModel(std::move(parts)));
}

Task<Result<void>> RunModel::close() {
  if (!parts_->writer) co_return Result<void>();
  parts_->serving.cancel();
  co_return co_await parts_->writer->close();
}

}  // namespace specgen
