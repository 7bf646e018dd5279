#pragma once
// A fork: an answer that goes on from a part of the reasoning, in the way that a strategy tells the server
// of it (docs/models.md). Each strategy is a pure function from the request to what is sent; what a
// strategy needs to know from the server first is in ForkMaterial, which ForkKitchen (fork_material.h)
// gets ready.
//
//   token_ids            prompt and reasoning as the server's own tokens, then those of the closing mark
//   raw_text             the rendered prompt, the reasoning and the closing mark as one text
//   prefill              the conversation, and an answer begun with the reasoning
//   thinking_off_quoted  the conversation, the reasoning quoted in a user's turn, reasoning switched off
//   user_turn            the same where it cannot be switched off

#include <cstdint>
#include <string>
#include <vector>

#include "generate/model.h"
#include "generate/openai/request_builder.h"

namespace specgen {

struct ForkMaterial {
  std::string rendered_prompt;            // raw_text: up to where the model begins to write
  std::vector<std::int32_t> closing_ids;  // token_ids: of closing_text()
};

// What ends the reasoning and begins the answer.
std::string closing_text(const WireModel& model, const Request& request);

// Whether this profile and this request have what the strategy needs.
bool can_fork(ForkStrategy strategy, const WireModel& model, const Request& request);

WireRequest fork_request(ForkStrategy strategy, const WireModel& model, const Request& request,
                         const ForkMaterial& material, const SendingOptions& sending);

}  // namespace specgen
