#pragma once
// Opens the Model that a user named:
//
//   author, author:PACE     the built-in author
//   cassette:FILE           a recorded conversation
//   openai:NAME@URL         a model on a server, e.g. openai:glm-4.6@http://gpu1:8000/v1
//   NAME                    one of [models.NAME] in specgen.toml
//
// Keys come from the environment or from a file that only its owner can read; they never appear in errors, logs
// or journals. docs/guide/model-servers.md is for users.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "generate/call_ledger.h"
#include "generate/model.h"
#include "generate/openai/openai_model.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"

namespace specgen {

// [models.NAME] of specgen.toml, unchecked.
struct NamedModel {
  std::string name = {};
  std::string url = {};
  std::string model = {};     // its name on the server; empty: the same name
  std::string profile = {};   // empty: by the URL
  std::string key_env = {};   // empty: the default of the profile
  std::string key_file = {};  // mode 0600
  Prices prices = {};
  bool http2 = false;
  bool priorities = false;
  std::string fork = {};  // empty: the best that works
  std::int64_t max_concurrent = 64;
};

// Shared services of all models; outlives them. Models of one endpoint share its gate.
struct ModelServices {
  ModelServices(Loop& its_loop, RealDriver& its_driver, CallLedger& its_ledger)
      : loop(its_loop), driver(its_driver), ledger(its_ledger) {}
  Loop& loop;
  RealDriver& driver;
  CallLedger& ledger;
  std::map<std::string, std::shared_ptr<EndpointGate>> gates = {};  // by origin
};

Result<std::unique_ptr<Model>> open_model(ModelServices& services, std::string_view spec,
                                          std::span<const NamedModel> named);

// Only servers: openai:NAME@URL or a name.
Result<std::unique_ptr<OpenAiModel>> open_server_model(ModelServices& services,
                                                       std::string_view spec,
                                                       std::span<const NamedModel> named);

// The server that a spec means: written out, or one of `named`.
Result<NamedModel> find_server_model(std::string_view spec, std::span<const NamedModel> named);

}  // namespace specgen
