#pragma once
// For tests: fake recorded exchanges.

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "generate/cassette/recording.h"

namespace specgen {

inline RecordedExchange exchange_of(std::uint64_t number, std::string body,
                                    std::vector<RecordedPiece> pieces) {
  RecordedExchange exchange;
  exchange.number = number;
  exchange.request = {"POST", "/v1/chat/completions", {}, std::move(body)};
  exchange.head = HttpHead{200, {{"content-type", "text/event-stream"}}};
  exchange.end_after = pieces.empty() ? Duration() : pieces.back().after;
  exchange.pieces = std::move(pieces);
  exchange.end = ExchangeEnd::complete;
  return exchange;
}

// One event of a chat stream; `field` is "reasoning_content" or "content".
inline std::string chat_chunk(std::string_view field, std::string_view text) {
  return fmt::format("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"{}\":\"{}\"}}}}]}}\n\n",
                     field, text);
}
inline std::string last_chunks(int prompt_tokens, int completion_tokens) {
  return fmt::format(
      "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n"
      "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{}}}}}\n\n"
      "data: [DONE]\n\n",
      prompt_tokens, completion_tokens);
}

}  // namespace specgen
