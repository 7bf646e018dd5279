#include "generate/model.h"

namespace specgen {

Task<Result<Answer>> ask(Model& model, Request request) {
  request.count = 1;
  auto generation = CO_TRY(co_await model.start(std::move(request)));
  Answer answer;
  while (true) {
    StreamEvent event = CO_TRY(co_await generation->next());
    if (auto* delta = std::get_if<Delta>(&event)) {
      (delta->kind == DeltaKind::reasoning ? answer.reasoning : answer.content) += delta->text;
    } else if (auto* ended = std::get_if<Ended>(&event)) {
      answer.usage = ended->usage;
      if (!ended->reasons.empty()) answer.reason = ended->reasons[0];
      co_return answer;
    }
  }
}

// Source code and technical English have three to four characters per token.
std::int64_t estimate_tokens(std::string_view text) {
  constexpr std::size_t kCharactersPerToken = 3;
  return static_cast<std::int64_t>((text.size() + kCharactersPerToken - 1) / kCharactersPerToken);
}

std::int64_t max_tokens(const Request& request) {
  std::int64_t tokens = request.max_tokens * request.count;
  for (const Message& message : request.messages) tokens += estimate_tokens(message.text);
  if (request.prefix) tokens += estimate_tokens(request.prefix->text);
  return tokens;
}

}  // namespace specgen
