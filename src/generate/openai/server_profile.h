#pragma once
// How servers that speak the OpenAI API differ: what each can do and how it spells it, as data. A
// profile is one row of a table (server_profile.cc); request_builder.h and fork.h turn a Request into
// what such a server wants. What a row claims is a starting point: a probe (probe.h) finds out.

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

// How a fork tells the server what has been thought so far; best first. docs/models.md explains them.
enum class ForkStrategy { token_ids, raw_text, prefill, thinking_off_quoted, user_turn };
std::string_view to_string(ForkStrategy strategy);
Result<ForkStrategy> parse_fork_strategy(std::string_view name);

enum class ThinkingSwitch {
  none,              // there is none, or nobody knows it
  template_kwargs,   // chat_template_kwargs: enable_thinking and reasoning
  thinking_type,     // reasoning: {type: enabled or disabled}
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

enum class RenderedPrompt {  // where the prompt comes from as the model reads it
  unknown,
  told_in_stream,  // prompt_text of the first chunk, else by tokens
  apply_template,  // POST /apply-template
};

enum class TokenizeSpelling {
  none,
  prompt_field,   // POST /tokenize {"model", "prompt", "add_special_tokens"}
  content_field,  // POST /tokenize {"content", "add_special", "parse_special"}
};

struct ServerProfile {
  std::string_view name;
  bool is_language_model = true;       // and reads prose
  std::string_view key_variable = {};  // where a key is looked for unless settings say; empty: none
  ThinkingSwitch reasoning = ThinkingSwitch::none;
  std::string_view low_effort = {};  // of reasoning_effort, where reasoning cannot be switched off
  std::string_view max_tokens_field = "max_tokens";
  bool stream_options = true;     // {"include_usage": true}
  bool continuous_usage = false;  // usage in every chunk, so that a cancelled call is counted right
  bool usage_counts_one_choice = false;  // of several: ours is the count then
  int priority_sign = 0;                 // times Request::priority; 0: knows none
  std::string_view affinity_header = {};
  std::string_view affinity_field = {};
  bool takes_request_id = false;           // `rid`, with which POST /abort_request stops it at once
  bool return_progress = false;            // without it a cancel waits for the end of the prefill
  bool tells_token_ids = false;            // return_token_ids
  std::string_view prompt_ids_field = {};  // what else must be asked for to be told the prompt's
  bool choices = true;                     // n
  RenderedPrompt rendered = RenderedPrompt::unknown;
  TokenizeSpelling tokenize = TokenizeSpelling::none;
  PrefillSpelling prefill = PrefillSpelling::none;
  std::string_view running_gauge = {};  // of /metrics: requests being generated
  // What a probe tries, in this order; and what is used where nothing was probed.
  std::vector<ForkStrategy> forks = {};
  ForkStrategy unprobed = ForkStrategy::user_turn;
};

std::span<const ServerProfile> server_profiles();
// An unknown name is an error that names the nearest one.
Result<const ServerProfile*> find_profile(std::string_view name);
// By the address alone: the well-known hosts, else generic.
const ServerProfile& guess_profile(std::string_view url);

}  // namespace specgen
