#pragma once
// Model: the interface of everything that writes kernels: a server (openai/), a recorded conversation
// (cassette/) or the built-in author (author/).
//
//   auto generation = CO_TRY(co_await model.start(request));
//   while (true) {
//     StreamEvent event = CO_TRY(co_await generation->next());
//     if (auto* delta = std::get_if<Delta>(&event)) follow(*delta);
//     if (auto* ended = std::get_if<Ended>(&event)) break;
//   }
//
// Ownership: the caller owns a Generation; the model outlives it.
// Cancellation: destroying a Generation cancels it at the server at once.
// Cost: the model records every call in the CallLedger, including failed and cancelled ones.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "runtime/task.h"

namespace specgen {

enum class Speaker { system, user, assistant };

struct Message {
  Speaker speaker = Speaker::user;
  std::string text;
};

enum class Mode {
  reason,  // reasoning first, of any length
  answer,  // the answer at once, without reasoning
};

// The reasoning from which a fork continues. Made by ReasoningTrace, cut at a safe place.
struct ReasoningPrefix {
  std::string text;
  // Prompt and reasoning as the server's tokens, equivalent to the messages and `text`. Empty if the
  // server did not report them.
  std::vector<std::int32_t> token_ids;
};

struct Sampling {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::uint64_t> seed;
};

struct Request {
  std::vector<Message> messages;
  Mode mode = Mode::reason;
  std::optional<ReasoningPrefix> prefix;  // a fork: the answer continues from this; mode is answer
  std::string answer_start;               // a fork: the answer begins with this, such as "```cpp\n"
  int count = 1;                          // number of answers to this prompt
  Sampling sampling;
  std::int64_t max_tokens = 32'768;  // reasoning and answer together
  std::vector<std::string> stop;
  int priority = 0;      // higher is served first, on servers that support priorities
  std::string affinity;  // equal for a main generation and its forks: same replica, same cache
  std::string purpose;   // for the ledger: "main", "fork", "judge", ...
  Duration idle_timeout = std::chrono::seconds(120);  // without a token
  Duration total_timeout = std::chrono::minutes(60);
};

enum class DeltaKind { reasoning, content };

struct Delta {
  DeltaKind kind = DeltaKind::content;
  std::string text;                     // complete UTF-8 characters
  int choice = 0;                       // index below Request::count
  std::vector<std::int32_t> token_ids;  // of `text`, if the server reports them
};

// Precedes the first delta, if the server reports it: the beginning of a fork by token ids.
struct PromptTokens {
  std::vector<std::int32_t> token_ids;
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;      // of the prompt
  std::int64_t completion_tokens = 0;  // of all choices, reasoning included
  std::int64_t reasoning_tokens = 0;   // of the completion
  bool estimated = false;              // not reported by the server
  bool cached_known = false;

  // The tokens the server had to compute; cached ones cost almost nothing.
  std::int64_t fresh_tokens() const { return prompt_tokens - cached_tokens + completion_tokens; }
};

enum class FinishReason { stop, length, other };

struct Ended {
  std::vector<FinishReason> reasons;  // per choice
  Usage usage;
  std::string note = {};  // for display: how the answer differs from the request; usually empty
};

using StreamEvent = std::variant<PromptTokens, Delta, Ended>;

class Generation {
 public:
  virtual ~Generation() = default;

  // Cancel-safe: an event leaves the stream only when it is delivered. Must not be called again after
  // Ended or an error. An error means that the answer is incomplete.
  virtual Task<Result<StreamEvent>> next() = 0;
};

struct Prices {  // US dollars per million tokens
  double prompt = 0;
  double cached = 0;
  double completion = 0;
};

struct ModelInfo {
  std::string name;  // as the user wrote it
  Prices prices;
  bool is_language_model = true;  // false: the author, a cassette
};

class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;
  // Returns when the request was sent, or with why it could not be. The generation must not outlive the model.
  virtual Task<Result<std::unique_ptr<Generation>>> start(Request request) = 0;
};

// The complete answer, for callers that do not need the stream.
struct Answer {
  std::string reasoning;
  std::string content;
  FinishReason reason = FinishReason::stop;
  Usage usage;
};
Task<Result<Answer>> ask(Model& model, Request request);

// The approximate number of tokens of a text, for budgets and for servers that do not report usage.
std::int64_t estimate_tokens(std::string_view text);
// The maximum cost of a request: its estimated prompt, and max_tokens for every answer.
std::int64_t max_tokens(const Request& request);

}  // namespace specgen
