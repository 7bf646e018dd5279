#pragma once
// A model behind an OpenAI-compatible API. Calls go through the endpoint's gate, are tried again before
// their first token if that may help, and every attempt has its row in the ledger. What outlives a
// cancelled call (the abort that SGLang wants to be sent) belongs to the model.
//
// Without a probe it forks by what its profile believes best, and goes down the list when the server
// refuses a way or thinks nevertheless; with one (use()) it begins with what was seen to work.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate/call_ledger.h"
#include "generate/http/http_client.h"
#include "generate/model.h"
#include "generate/openai/endpoint_gate.h"
#include "generate/openai/fork_material.h"
#include "generate/openai/request_builder.h"
#include "generate/openai/retry_policy.h"
#include "generate/openai/think_splitter.h"
#include "runtime/task_group.h"

namespace specgen {

struct OpenAiOptions {
  std::string name;  // as the user wrote it
  WireModel wire;
  bool profile_is_guess = false;  // so that the server may say better
  std::string key;                // secret; empty: none is sent
  Prices prices;
  std::optional<ForkStrategy> fork = std::nullopt;  // only this one, if it is set
  RetryPolicy retry = {};
  std::size_t warm_connections = 0;  // ready for forks while a main generation streams
};

// What a probe found out that requests are built by.
struct ProbedTraits {
  std::optional<ForkStrategy> fork;  // the best that works; nothing: not tried
  ThinkSplitter::Opener opener = ThinkSplitter::Opener::in_text;
};

class OpenAiModel final : public Model {
 public:
  // The ledger outlives the model.
  OpenAiModel(Loop& loop, std::unique_ptr<HttpClient> http, std::shared_ptr<EndpointGate> gate,
              CallLedger& ledger, OpenAiOptions options);
  ~OpenAiModel() override;

  const ModelInfo& info() const override { return info_; }
  Task<Result<std::unique_ptr<Generation>>> start(Request request) override;

  // Where the profile is a guess from the address; false if it was set.
  bool take_profile(const ServerProfile& profile);
  void use(const ProbedTraits& traits);
  void use_only(ForkStrategy strategy) { forks_ = {strategy}; }  // until use()
  bool fork_is_set() const { return options_.fork.has_value(); }
  bool thought_in_tags() const { return thought_in_tags_; }  // of the content, the last time
  const WireModel& wire() const { return options_.wire; }
  const std::vector<ForkStrategy>& forks() const { return forks_; }  // best first

  // A small question to the same server, with the key; for probes. No ledger row: it costs no token.
  Task<Result<HttpResponse>> look(std::string url, Duration limit);
  std::string without_key(std::string text) const;

 private:
  friend class OpenAiCall;

  // Another way worked where this one was refused, or it let the model think: not again.
  void demote(ForkStrategy strategy);
  void forked(ForkStrategy strategy, bool thought);
  std::string next_request_id();
  // A main generation streams, and forks may leave it at any moment: they are to pay no handshake.
  void keep_connections_warm();
  void abort_on_server(std::string request_id);
  Task<void> send_abort(std::string request_id);

  Loop& loop_;
  std::unique_ptr<HttpClient> http_;
  std::shared_ptr<EndpointGate> gate_;
  CallLedger& ledger_;
  OpenAiOptions options_;
  ModelInfo info_;
  ForkMaterials materials_;
  std::vector<ForkStrategy> forks_;
  ThinkSplitter::Opener opener_ = ThinkSplitter::Opener::in_text;
  bool thought_in_tags_ = false;
  int thoughtful_forks_ = 0;  // in a row, by the best strategy
  std::string id_stem_;       // this model's among those that use the server
  std::uint64_t last_id_ = 0;
  Time warm_until_{};
  TaskGroup errands_;  // aborts and warmings; last: it uses the rest
};

}  // namespace specgen
