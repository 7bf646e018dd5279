#pragma once
// From what a user wrote to a Model:
//
//   author, author:PACE     the built-in author
//   cassette:FILE           a recorded conversation
//   openai:NAME@URL         a model on a server, e.g. openai:glm-4.6@http://gpu1:8000/v1
//   NAME                    one of [models.NAME] in specgen.toml
//
// Keys come from the environment or from a file that only its owner can read; they are in no error, log
// or journal. docs/models.md is for users.

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

// [models.NAME] of specgen.toml, as it was written.
struct NamedModel {
  std::string name = {};
  std::string url = {};
  std::string model = {};     // what the server calls it; empty: the name
  std::string profile = {};   // empty: by the URL
  std::string key_env = {};   // empty: what the profile says
  std::string key_file = {};  // mode 0600
  Prices prices = {};
  bool http2 = false;
  bool priorities = false;
  std::string fork = {};  // empty: the best that works
  std::int64_t max_concurrent = 64;
};

// What models are made with. Outlives them. Models of one endpoint share its gate.
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

// The same for what can only be a server: openai:NAME@URL or a name.
Result<std::unique_ptr<OpenAiModel>> open_server_model(ModelServices& services,
                                                       std::string_view spec,
                                                       std::span<const NamedModel> named);

// What such a spec stands for: written out, or one of `named`.
Result<NamedModel> find_server_model(std::string_view spec, std::span<const NamedModel> named);

}  // namespace specgen
