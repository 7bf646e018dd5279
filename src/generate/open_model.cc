#include "generate/open_model.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "generate/author/author_model.h"
#include "generate/cassette/cassette_model.h"

namespace specgen {
namespace {

constexpr std::size_t kWarmConnections = 4;  // about as many forks as leave at once
constexpr std::string_view kOpenAi = "openai:";
constexpr std::string_view kCassette = "cassette:";
constexpr std::string_view kAuthor = "author";
constexpr std::string_view kAuthorAtPace = "author:";
constexpr Bytes kLargestKeyFile = KiB(16);

Result<std::string> usable_key(std::string_view raw, std::string_view where) {
  std::string key(trim(raw));
  if (key.empty()) return fail(ErrorCode::key_missing, fmt::format("{} is empty", where));
  if (std::ranges::any_of(key, [](char c) { return c <= ' ' || c > '~'; })) {
    return fail(ErrorCode::key_missing, fmt::format("{} holds what no key can hold", where),
                "put the key alone there, on one line");
  }
  return key;
}

Result<std::string> key_from_file(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) {
    return fail(ErrorCode::key_missing, fmt::format("there is no file '{}'", path),
                "put the key into it, then: chmod 600 " + path);
  }
  constexpr mode_t kOthers = 077;
  if ((facts.st_mode & kOthers) != 0) {
    return fail(ErrorCode::key_missing,
                fmt::format("others can read '{}' (mode {:04o})", path, facts.st_mode & 07777),
                "chmod 600 " + path);
  }
  return usable_key(TRY(read_file(path, kLargestKeyFile)), fmt::format("'{}'", path));
}

Result<std::string> key_of(const NamedModel& model, const ServerProfile& profile) {
  if (!model.key_file.empty()) return key_from_file(model.key_file);
  std::string variable = model.key_env.empty() ? std::string(profile.key_variable) : model.key_env;
  if (variable.empty()) return std::string();  // a server that asks for none
  auto value = environment_variable(variable.c_str());
  if (!value) {
    return fail(
        ErrorCode::key_missing,
        fmt::format("the environment has no {}, which '{}' needs", variable, model.name),
        fmt::format("export {}=..., or set key_file of this model in specgen.toml", variable));
  }
  return usable_key(*value, variable);
}

Result<const ServerProfile*> profile_of(const NamedModel& model) {
  if (model.profile.empty()) return &guess_profile(model.url);
  return find_profile(model.profile);
}

// "openai:NAME@URL". Names hold slashes, colons and sometimes an @.
Result<NamedModel> parse_server_spec(std::string_view spec) {
  std::string_view rest = spec.substr(kOpenAi.size());
  std::size_t at = std::min(rest.find("@http://"), rest.find("@https://"));
  if (at == std::string_view::npos) at = rest.rfind('@');
  if (at == std::string_view::npos || at == 0) {
    return fail(ErrorCode::unknown_model, fmt::format("'{}' is not openai:NAME@URL", spec),
                "write for example openai:glm-4.6@http://127.0.0.1:8000/v1");
  }
  NamedModel model;
  model.name = spec;
  model.model = rest.substr(0, at);
  model.url = rest.substr(at + 1);
  return model;
}

std::shared_ptr<EndpointGate> gate_for(ModelServices& services, const EndpointUrl& url,
                                       std::int64_t max_concurrent) {
  std::shared_ptr<EndpointGate>& gate = services.gates[url.origin];
  if (!gate) {
    GateOptions options;
    options.max_concurrent = static_cast<std::size_t>(max_concurrent);
    gate = std::make_shared<EndpointGate>(services.loop, options);
  }
  return gate;
}

}  // namespace

Result<NamedModel> find_server_model(std::string_view spec, std::span<const NamedModel> named) {
  if (spec.starts_with(kOpenAi)) return parse_server_spec(spec);
  std::vector<std::string> known;
  for (const NamedModel& model : named) {
    if (model.name == spec) return model;
    known.push_back(model.name);
  }
  for (std::string_view kind : {kAuthor, kCassette, kOpenAi}) known.emplace_back(kind);
  std::string_view kind = spec.substr(0, spec.find(':') + 1);
  std::string_view typed = kind.empty() ? spec : kind;
  return fail(ErrorCode::unknown_model,
              fmt::format("unknown model '{}'{}", spec, did_you_mean(typed, known)));
}

Result<std::unique_ptr<OpenAiModel>> open_server_model(ModelServices& services,
                                                       std::string_view spec,
                                                       std::span<const NamedModel> named) {
  NamedModel found = TRY(find_server_model(spec, named));
  OpenAiOptions options;
  options.name = found.name;
  options.wire.url = TRY(parse_endpoint_url(found.url));
  options.wire.model = found.model.empty() ? found.name : found.model;
  options.wire.profile = TRY(profile_of(found));
  options.profile_is_guess = found.profile.empty() && options.wire.profile->name == "generic";
  options.wire.family = &family_of(options.wire.model);
  options.wire.priorities = found.priorities;
  options.key = TRY(key_of(found, *options.wire.profile));
  options.prices = found.prices;
  // Streams of HTTP/2 share a connection that is there already.
  options.warm_connections = found.http2 ? 0 : kWarmConnections;
  if (!found.fork.empty()) options.fork = TRY(parse_fork_strategy(found.fork));
  HttpClientOptions http_options;
  http_options.http2 = found.http2;
  auto http = TRY(HttpClient::open(services.loop, services.driver, std::move(http_options)));
  auto gate = gate_for(services, options.wire.url, found.max_concurrent);
  return std::make_unique<OpenAiModel>(services.loop, std::move(http), std::move(gate),
                                       services.ledger, std::move(options));
}

Result<std::unique_ptr<Model>> open_model(ModelServices& services, std::string_view spec,
                                          std::span<const NamedModel> named) {
  if (spec == kAuthor || spec.starts_with(kAuthorAtPace)) {
    std::string_view pace = spec.substr(std::min(spec.size(), kAuthorAtPace.size()));
    return open_author(services.loop, pace, 0, &services.ledger);
  }
  if (spec.starts_with(kCassette)) {
    return open_cassette(services.loop, services.ledger,
                         std::filesystem::path(spec.substr(kCassette.size())));
  }
  return TRY(open_server_model(services, spec, named));
}

}  // namespace specgen
