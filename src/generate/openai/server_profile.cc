#include "generate/openai/server_profile.h"

#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>

#include "base/text.h"

namespace specgen {
namespace {

using enum ForkStrategy;

constexpr std::array<std::pair<ForkStrategy, std::string_view>, 5> kStrategyNames{{
    {token_ids, "token_ids"},
    {raw_text, "raw_text"},
    {prefill, "prefill"},
    {thinking_off_quoted, "thinking_off_quoted"},
    {user_turn, "user_turn"},
}};

// Self-hosted servers, then hosted services, then the fallback.
const std::vector<ServerProfile>& table() {
  static const std::vector<ServerProfile> kTable{
      {.name = "vllm",
       .reasoning = ReasoningSwitch::template_kwargs,
       .continuous_usage = true,
       .priority_sign = -1,
       .affinity_header = "X-Session-ID",
       .returns_token_ids = true,
       .rendered = RenderedPrompt::in_stream,
       .tokenize = TokenizeSpelling::prompt_field,
       .prefill = PrefillSpelling::reasoning_field,
       .running_gauge = "vllm:num_requests_running",
       .forks = {token_ids, raw_text, prefill, thinking_off_quoted, user_turn},
       .unprobed = token_ids},
      {.name = "sglang",
       .reasoning = ReasoningSwitch::template_kwargs,
       .continuous_usage = true,
       .priority_sign = 1,
       .affinity_header = "X-SMG-Routing-Key",
       .takes_request_id = true,
       .returns_token_ids = true,
       .prompt_ids_field = "return_prompt_token_ids",
       .tokenize = TokenizeSpelling::prompt_field,
       .prefill = PrefillSpelling::closed_text,
       .running_gauge = "sglang:num_running_reqs",
       .forks = {token_ids, prefill, thinking_off_quoted, user_turn},
       .unprobed = token_ids},
      {.name = "llamacpp",
       .reasoning = ReasoningSwitch::template_kwargs,
       .usage_counts_one_choice = true,
       .return_progress = true,
       .rendered = RenderedPrompt::apply_template,
       .tokenize = TokenizeSpelling::content_field,
       .prefill = PrefillSpelling::reasoning_content,
       .running_gauge = "llamacpp:requests_processing",
       .forks = {token_ids, raw_text, prefill, thinking_off_quoted, user_turn},
       .unprobed = raw_text},
      {.name = "deepseek",
       .key_variable = "DEEPSEEK_API_KEY",
       .reasoning = ReasoningSwitch::thinking_type,
       .low_effort = "low",
       .affinity_field = "user_id",
       .choices = false,
       .prefill = PrefillSpelling::prefix_flag,
       .forks = {prefill, thinking_off_quoted, user_turn},
       .unprobed = prefill},
      {.name = "zai",
       .key_variable = "ZAI_API_KEY",
       .reasoning = ReasoningSwitch::thinking_type,
       .low_effort = "low",
       .stream_options = false,
       .choices = false,
       .forks = {thinking_off_quoted, user_turn},
       .unprobed = thinking_off_quoted},
      {.name = "openrouter",
       .key_variable = "OPENROUTER_API_KEY",
       .reasoning = ReasoningSwitch::reasoning_object,
       .low_effort = "low",
       .affinity_field = "session_id",
       .choices = false,
       .forks = {thinking_off_quoted, user_turn},
       .unprobed = thinking_off_quoted},
      {.name = "openai",
       .key_variable = "OPENAI_API_KEY",
       .reasoning = ReasoningSwitch::effort_none,
       .low_effort = "low",
       .max_tokens_field = "max_completion_tokens",
       .affinity_field = "prompt_cache_key",
       .forks = {thinking_off_quoted, user_turn},
       .unprobed = thinking_off_quoted},
      {.name = "ollama",
       .reasoning = ReasoningSwitch::effort_none,
       .low_effort = "low",
       .choices = false,
       .forks = {thinking_off_quoted, user_turn},
       .unprobed = thinking_off_quoted},
      {.name = "specgen",  // the built-in author over HTTP
       .is_language_model = false,
       .reasoning = ReasoningSwitch::template_kwargs,
       .continuous_usage = true,
       .prefill = PrefillSpelling::reasoning_content,
       .forks = {prefill},
       .unprobed = prefill},
      {.name = "generic",
       .choices = false,
       .prefill = PrefillSpelling::reasoning_content,
       .forks = {prefill, user_turn},
       .unprobed = user_turn},
  };
  return kTable;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kHosts{{
    {"api.deepseek.com", "deepseek"},
    {"api.z.ai", "zai"},
    {"open.bigmodel.cn", "zai"},
    {"openrouter.ai", "openrouter"},
    {"api.openai.com", "openai"},
    {"localhost:11434", "ollama"},
}};

}  // namespace

std::string_view to_string(ForkStrategy strategy) {
  return kStrategyNames[static_cast<std::size_t>(strategy)].second;
}

Result<ForkStrategy> parse_fork_strategy(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [strategy, text] : kStrategyNames) {
    if (text == name) return strategy;
    known.emplace_back(text);
  }
  return fail(ErrorCode::unknown_name,
              fmt::format("there is no fork strategy '{}'{}", name, did_you_mean(name, known)),
              fmt::format("choose one of: {}", join(known, ", ")));
}

std::span<const ServerProfile> server_profiles() {
  return table();
}

Result<const ServerProfile*> find_profile(std::string_view name) {
  std::vector<std::string> known;
  for (const ServerProfile& profile : table()) {
    if (profile.name == name) return &profile;
    known.emplace_back(profile.name);
  }
  return fail(ErrorCode::unknown_name,
              fmt::format("there is no profile '{}'{}", name, did_you_mean(name, known)),
              fmt::format("choose one of: {}", join(known, ", ")));
}

const ServerProfile& guess_profile(std::string_view url) {
  std::string_view rest = url.substr(std::min(url.size(), url.find("//") + 2));
  std::string_view host = rest.substr(0, rest.find('/'));
  for (const auto& [known, name] : kHosts) {
    if (host == known) return **find_profile(name);
  }
  return table().back();
}

}  // namespace specgen
