#include "generate/author/author_service.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <vector>

#include "generate/author/author_text.h"
#include "generate/author/tokens.h"

namespace specgen {
namespace {

Task<Result<void>> send_json(HttpReply& reply, int status, Json json) {
  co_return co_await reply.send(status, {{"Content-Type", "application/json"}},
                                compact_json(json) + "\n");
}

Task<Result<void>> send_error(HttpReply& reply, Error error) {
  bool unknown = error.code == ErrorCode::unknown_name;
  co_return co_await send_json(
      reply, unknown ? 404 : 400,
      error_json(error, unknown ? "not_found_error" : "invalid_request_error"));
}

std::string event(const Json& json) {
  return "data: " + compact_json(json) + "\n\n";
}

void add_to(Usage& so_far, const Delta& delta) {
  std::int64_t tokens = count_author_tokens(delta.text);
  so_far.completion_tokens += tokens;
  if (delta.kind == DeltaKind::reasoning) so_far.reasoning_tokens += tokens;
}

// Counts a running request, also if it is cancelled.
class RunningCount {
 public:
  explicit RunningCount(std::int64_t& count) : count_(count) { ++count_; }
  ~RunningCount() { --count_; }
  RunningCount(const RunningCount&) = delete;

 private:
  std::int64_t& count_;
};

// A text completion has reasoning and answer in one text, with the marks between them.
class ThinkMarks {
 public:
  explicit ThinkMarks(const ApiCall& call)
      : choices_(static_cast<std::size_t>(call.request.count),
                 {.opens = call.opens_reasoning && call.request.mode == Mode::reason}) {}

  void add_to(Delta& delta) {
    Choice& choice = choices_[static_cast<std::size_t>(delta.choice)];
    if (delta.kind == DeltaKind::reasoning) {
      if (choice.opens) delta.text.insert(0, "<think>\n");
      choice.opens = false;
      choice.in_reasoning = true;
    } else if (choice.in_reasoning) {
      delta.text.insert(0, "</think>\n\n");
      choice.in_reasoning = false;
    }
  }

 private:
  struct Choice {
    bool opens = false;
    bool in_reasoning = false;
  };
  std::vector<Choice> choices_;
};

}  // namespace

ApiAnswer AuthorService::new_answer(const ApiCall& call) {
  return ApiAnswer(
      call, fmt::format("{}-author-{}", call.is_chat ? "chatcmpl" : "cmpl", ++last_id_), created());
}

Task<Result<void>> AuthorService::stream(ApiCall call, Generation& generation, HttpReply& reply) {
  ApiAnswer answer = new_answer(call);
  ThinkMarks marks(call);
  Usage so_far = call.continuous_usage ? prompt_usage(call.request) : Usage{};
  CO_TRY(co_await reply.begin(
      200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}}));
  for (int i = 0; call.is_chat && i < call.request.count; ++i) {
    CO_TRY(co_await reply.write(event(answer.begin_chunk(i))));
  }
  while (true) {
    auto next = co_await generation.next();
    if (!next) {
      CO_TRY(co_await reply.write(event(error_json(next.error(), "server_error"))));
      break;
    }
    if (auto* delta = std::get_if<Delta>(&*next)) {
      if (call.continuous_usage) add_to(so_far, *delta);
      if (!call.is_chat) marks.add_to(*delta);
      Json chunk = answer.chunk(*delta);
      if (call.continuous_usage) ApiAnswer::add_usage(chunk, so_far);
      CO_TRY(co_await reply.write(event(chunk)));
    } else if (auto* ended = std::get_if<Ended>(&*next)) {
      std::string last;
      for (std::size_t i = 0; i < ended->reasons.size(); ++i) {
        last += event(answer.end_chunk(static_cast<int>(i), ended->reasons[i]));
      }
      if (call.include_usage) last += event(answer.usage_chunk(ended->usage));
      CO_TRY(co_await reply.write(std::move(last)));
      break;
    }
  }
  CO_TRY(co_await reply.write("data: [DONE]\n\n"));
  co_return co_await reply.end();
}

Task<Result<void>> AuthorService::answer_at_once(ApiCall call, Generation& generation,
                                                 HttpReply& reply) {
  ApiAnswer answer = new_answer(call);
  ThinkMarks marks(call);
  std::vector<ApiAnswer::Text> texts(static_cast<std::size_t>(call.request.count));
  while (true) {
    auto next = co_await generation.next();
    if (!next) co_return co_await send_json(reply, 500, error_json(next.error(), "server_error"));
    if (auto* delta = std::get_if<Delta>(&*next)) {
      ApiAnswer::Text& text = texts[static_cast<std::size_t>(delta->choice)];
      if (!call.is_chat) marks.add_to(*delta);
      bool separate = call.is_chat && delta->kind == DeltaKind::reasoning;
      (separate ? text.reasoning : text.content) += delta->text;
    } else if (auto* ended = std::get_if<Ended>(&*next)) {
      co_return co_await send_json(reply, 200, answer.complete(texts, *ended));
    }
  }
}

Task<Result<void>> AuthorService::complete(Result<ApiCall> call, HttpReply& reply) {
  if (!call) co_return co_await send_error(reply, std::move(call.error()));
  if (auto known = check_has_plan(call->request); !known) {
    co_return co_await send_error(reply, std::move(known.error()));
  }
  auto generation = co_await model_.start(call->request);
  if (!generation) co_return co_await send_error(reply, std::move(generation.error()));
  RunningCount running(running_);
  if (call->stream) co_return co_await stream(std::move(*call), **generation, reply);
  co_return co_await answer_at_once(std::move(*call), **generation, reply);
}

Task<Result<void>> AuthorService::handle(HttpServerRequest request, HttpReply& reply) {
  const std::string& path = request.path;
  bool chat = path == "/v1/chat/completions" || path == "/chat/completions";
  bool text = path == "/v1/completions" || path == "/completions";
  bool rendering = path == "/apply-template";
  bool models = path == "/v1/models" || path == "/models";
  if (!chat && !text && !rendering && !models && path != "/health" && path != "/metrics") {
    co_return co_await send_error(
        reply, {ErrorCode::unknown_name, fmt::format("there is no endpoint {}", path), {}});
  }
  const std::string wanted = chat || text || rendering ? "POST" : "GET";
  if (request.method != wanted) {
    Error error{ErrorCode::bad_usage, fmt::format("{} needs {}", path, wanted), {}};
    co_return co_await send_json(reply, 405, error_json(error, "invalid_request_error"));
  }
  if (models) co_return co_await send_json(reply, 200, models_json(created()));
  if (path == "/health") {
    co_return co_await send_json(reply, 200, boost::json::object{{"status", "ok"}});
  }
  if (path == "/metrics") {
    // The name that llama.cpp uses.
    std::string metrics = fmt::format("llamacpp:requests_processing {}\n", running_);
    co_return co_await reply.send(200, {{"Content-Type", "text/plain"}}, std::move(metrics));
  }
  auto body = parse_json(request.body);
  if (!body) co_return co_await send_error(reply, std::move(body.error()));
  if (rendering) {
    auto messages = read_messages(*body);
    if (!messages) co_return co_await send_error(reply, std::move(messages.error()));
    co_return co_await send_json(reply, 200,
                                 boost::json::object{{"prompt", render_messages(*messages)}});
  }
  co_return co_await complete(chat ? read_chat_call(*body) : read_completion_call(*body), reply);
}

}  // namespace specgen
