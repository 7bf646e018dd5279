#pragma once
// Forks: answers generated from a prefix of the reasoning. A strategy says how the prefix is passed to the server
// (docs/guide/model-servers.md). Each strategy is a pure function from the request to the HTTP request; what
// it must first ask the
// server for is in ForkMaterial, prepared by ForkMaterials (fork_material.h).
//
//   token_ids            prompt and reasoning as the server's tokens, then those of the closing mark
//   raw_text             the rendered prompt, the reasoning and the closing mark as one text
//   prefill              the conversation, and an assistant message that begins with the reasoning
//   thinking_off_quoted  the conversation, the reasoning quoted in a user message, reasoning switched off
//   user_turn            the same where reasoning cannot be switched off

#include <cstdint>
#include <string>
#include <vector>

#include "generate/model.h"
#include "generate/openai/request_builder.h"

namespace specgen {

struct ForkMaterial {
  std::string rendered_prompt;            // raw_text: up to the model's first token
  std::vector<std::int32_t> closing_ids;  // token_ids: of closing_text()
};

// The text that ends the reasoning and begins the answer.
std::string closing_text(const WireModel& model, const Request& request);

// Whether the profile supports the strategy and the request has what it needs.
bool can_fork(ForkStrategy strategy, const WireModel& model, const Request& request);

WireRequest fork_request(ForkStrategy strategy, const WireModel& model, const Request& request,
                         const ForkMaterial& material, const SendingOptions& sending);

}  // namespace specgen
