#pragma once
// Model: one interface for everything that writes kernels, be it a server somewhere (openai/), a recorded
// conversation (cassette/) or the built-in author (author/).
//
//   auto thought = CO_TRY(co_await model.start(request));
//   while (true) {
//     StreamEvent event = CO_TRY(co_await thought->next());
//     if (auto* delta = std::get_if<Delta>(&event)) follow(*delta);
//     if (auto* ended = std::get_if<Ended>(&event)) break;
//   }
//
// Destroying a Generation cancels it on the wire at once. What was paid for it is written into the
// CallLedger by the model, which outlives its generations.

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
  reason,  // think first, at whatever length
  answer,  // write the answer at once
};

// The reasoning so far, from which an answer goes on. Cut by ReasoningTrace, at a safe place.
struct ReasoningPrefix {
  std::string text;
  // Prompt and reasoning as the server's own tokens, where it told them; they say the same as the
  // messages and `text`. Empty where it did not.
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
  std::optional<ReasoningPrefix> prefix;  // a fork: the answer follows from this; mode is answer
  std::string answer_start;               // a fork: the answer begins with this, such as "```cpp\n"
  int count = 1;                          // answers wanted from this one prompt
  Sampling sampling;
  std::int64_t max_tokens = 32'768;  // reasoning and answer together
  std::vector<std::string> stop;
  int priority = 0;      // higher goes first, on every server that knows priorities
  std::string affinity;  // equal for a main generation and its forks: same replica, same cache
  std::string purpose;   // for the ledger: "main", "fork", "judge", ...
  Duration idle_timeout = std::chrono::seconds(120);  // without a token
  Duration total_timeout = std::chrono::minutes(60);
};

enum class DeltaKind { reasoning, content };

struct Delta {
  DeltaKind kind = DeltaKind::content;
  std::string text;                     // whole UTF-8 characters
  int choice = 0;                       // which of Request::count
  std::vector<std::int32_t> token_ids;  // of `text`, where the server tells them
};

// Said before the first delta by servers that tell it: what a fork by token ids begins with.
struct PromptTokens {
  std::vector<std::int32_t> token_ids;
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;      // of the prompt
  std::int64_t completion_tokens = 0;  // of all choices, reasoning included
  std::int64_t reasoning_tokens = 0;   // of the completion
  bool estimated = false;              // counted by us: the server did not say
  bool cached_known = false;

  // What the server had to work for: what it has in its cache costs next to nothing.
  std::int64_t fresh_tokens() const { return prompt_tokens - cached_tokens + completion_tokens; }
};

enum class FinishReason { stop, length, other };

struct Ended {
  std::vector<FinishReason> reasons;  // per choice
  Usage usage;
  std::string note = {};  // for people: not quite what was asked for, and how; mostly empty
};

using StreamEvent = std::variant<PromptTokens, Delta, Ended>;

class Generation {
 public:
  virtual ~Generation() = default;

  // Cancel-safe: an event leaves the stream only when it is delivered. After Ended or an error
  // nothing more comes, and it must not be asked again. An error means that the answer is not whole.
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
  // Returns when the request has been sent, or cannot be; the generation must not outlive the model.
  virtual Task<Result<std::unique_ptr<Generation>>> start(Request request) = 0;
};

// A whole answer, for callers that follow nothing.
struct Answer {
  std::string reasoning;
  std::string content;
  FinishReason reason = FinishReason::stop;
  Usage usage;
};
Task<Result<Answer>> ask(Model& model, Request request);

// About how many tokens a text is, for budgets and where a server does not count.
std::int64_t estimate_tokens(std::string_view text);
// What a request may cost at most: its prompt, estimated, and every answer at its longest.
std::int64_t max_tokens(const Request& request);

}  // namespace specgen
