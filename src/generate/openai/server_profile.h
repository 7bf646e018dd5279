#pragma once
// How servers with an OpenAI-compatible API differ, as data: what each supports and which fields it uses. A
// profile is one row of a table (server_profile.cc); request_builder.h and fork.h build requests by it. A row is
// a starting point: a probe (probe.h) tests what really works.

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

// How a fork passes the reasoning so far to the server; best first. docs/guide/model-servers.md explains them.
enum class ForkStrategy { token_ids, raw_text, prefill, thinking_off_quoted, user_turn };
std::string_view to_string(ForkStrategy strategy);
Result<ForkStrategy> parse_fork_strategy(std::string_view name);

enum class ReasoningSwitch {
  none,              // there is none, or it is unknown
  template_kwargs,   // chat_template_kwargs: {enable_thinking, thinking}
  thinking_type,     // thinking: {type: enabled or disabled}
  reasoning_object,  // reasoning: {enabled: true} or {effort: none}
  effort_none,       // reasoning_effort: none
};

enum class PrefillSpelling {
  none,
  reasoning_content,  // a last message with reasoning_content, content; continue_final_message: content
  reasoning_field,  // the same with `reasoning`, and continue_final_message: true
  closed_text,      // all in content, with the closing mark; continue_final_message: true
  prefix_flag,      // a last message with prefix: true, at the server's /beta
};

enum class RenderedPrompt {  // how to get the prompt as rendered by the server's template
  unknown,
  in_stream,       // prompt_text of the first chunk, else by /tokenize and /detokenize
  apply_template,  // POST /apply-template
};

enum class TokenizeSpelling {
  none,
  prompt_field,   // POST /tokenize {"model", "prompt", "add_special_tokens"}
  content_field,  // POST /tokenize {"content", "add_special", "parse_special"}
};

struct ServerProfile {
  std::string_view name;
  bool is_language_model = true;       // reads prose
  std::string_view key_variable = {};  // default environment variable of the key; empty: none
  ReasoningSwitch reasoning = ReasoningSwitch::none;
  std::string_view low_effort = {};  // of reasoning_effort, where reasoning cannot be switched off
  std::string_view max_tokens_field = "max_tokens";
  bool stream_options = true;  // {"include_usage": true}
  bool continuous_usage =
      false;  // usage in every chunk, so that cancelled calls are counted exactly
  bool usage_counts_one_choice = false;  // of several: then we count ourselves
  int priority_sign = 0;                 // times Request::priority; 0: not supported
  std::string_view affinity_header = {};
  std::string_view affinity_field = {};
  bool takes_request_id = false;   // `rid`; POST /abort_request stops that request at once
  bool return_progress = false;    // without it a cancel waits for the end of the prefill
  bool returns_token_ids = false;  // return_token_ids
  std::string_view prompt_ids_field =
      {};               // requests the prompt's ids, where that is a second field
  bool choices = true;  // n
  RenderedPrompt rendered = RenderedPrompt::unknown;
  TokenizeSpelling tokenize = TokenizeSpelling::none;
  PrefillSpelling prefill = PrefillSpelling::none;
  std::string_view running_gauge = {};  // in /metrics: number of running requests
  // What a probe tries, in this order; and what is used without a probe.
  std::vector<ForkStrategy> forks = {};
  ForkStrategy unprobed = ForkStrategy::user_turn;
};

std::span<const ServerProfile> server_profiles();
// An unknown name is an error that suggests the most similar one.
Result<const ServerProfile*> find_profile(std::string_view name);
// By the URL alone: the well-known hosts, else generic.
const ServerProfile& guess_profile(std::string_view url);

}  // namespace specgen
