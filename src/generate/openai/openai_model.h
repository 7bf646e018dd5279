#pragma once
// A model behind an OpenAI-compatible API. Calls pass the endpoint's gate, are retried before their first token if
// that may help, and every attempt has a row in the ledger. Work that outlives a cancelled call (SGLang's abort
// request) belongs to the model.
//
// Without a probe it forks by the strategy its profile prefers, and moves down the list when the server refuses
// one or reasons nevertheless; with a probe (use()) it starts from the strategy that was seen to work.
// Loop thread only. The ledger outlives the model, the model its calls.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate/call_ledger.h"
#include "generate/http/http_client.h"
#include "generate/model.h"
#include "generate/openai/attempt_failure.h"
#include "generate/openai/endpoint_gate.h"
#include "generate/openai/fork_material.h"
#include "generate/openai/request_builder.h"
#include "generate/openai/think_splitter.h"
#include "runtime/task_group.h"

namespace specgen {

struct OpenAiOptions {
  std::string name;  // as the user wrote it
  WireModel wire;
  bool profile_is_guess = false;  // the server may correct it
  std::string key;                // secret; empty: none is sent
  Prices prices;
  std::optional<ForkStrategy> fork = std::nullopt;  // only this one, if it is set
  RetryPolicy retry = {};
  std::size_t warm_connections = 0;  // kept open for forks while a main generation streams
};

// Results of a probe that affect how requests are built.
struct ProbedTraits {
  std::optional<ForkStrategy> fork;  // the best that works; nullopt: not tried
  ThinkSplitter::Opener opener = ThinkSplitter::Opener::in_text;
};

class OpenAiModel final : public Model {
 public:
  OpenAiModel(Loop& loop, std::unique_ptr<HttpClient> http, std::shared_ptr<EndpointGate> gate,
              CallLedger& ledger, OpenAiOptions options);
  ~OpenAiModel() override;

  const ModelInfo& info() const override { return info_; }
  Task<Result<std::unique_ptr<Generation>>> start(Request request) override;

  // Replaces a profile that was guessed from the URL; false if it was configured.
  bool take_profile(const ServerProfile& profile);
  void use(const ProbedTraits& traits);
  void use_only(ForkStrategy strategy) { forks_ = {strategy}; }  // until use()
  bool fork_is_set() const { return options_.fork.has_value(); }
  bool reasoning_in_tags() const { return reasoning_in_tags_; }  // within the content, last time
  const WireModel& wire() const { return options_.wire; }
  const std::vector<ForkStrategy>& forks() const { return forks_; }  // best first

  // A GET request to the same server, with the key; for probes. No ledger row: it costs no tokens.
  Task<Result<HttpResponse>> get(std::string url, Duration limit);
  std::string without_key(std::string text) const;

 private:
  friend class OpenAiCall;

  // Not used again: it was refused where another strategy worked, or the model reasoned in spite of it.
  void demote(ForkStrategy strategy);
  void forked(ForkStrategy strategy, bool reasoned);
  std::string next_request_id();
  // Called while a main generation streams: forks may start at any moment and should not wait for a handshake.
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
  bool reasoning_in_tags_ = false;
  int forks_that_reasoned_ = 0;  // in a row, by the best strategy
  std::string id_prefix_;        // distinguishes this model's requests on a shared server
  std::uint64_t last_id_ = 0;
  Time warm_until_{};
  TaskGroup background_;  // aborts and warm-ups; last: its tasks use the other members
};

}  // namespace specgen
