#pragma once
// The author behind an OpenAI-compatible API: a handler for HttpServer. Each request is a task, cancelled when
// its client
// disconnects. Serves /v1/chat/completions, /v1/completions, /v1/models, /apply-template, /health and /metrics
// (docs/reference/author.md). A prompt for a task without a plan is answered with an error.

#include <cstdint>

#include "base/error.h"
#include "generate/author/author_api.h"
#include "generate/author/author_model.h"
#include "generate/http/http_server.h"

namespace specgen {

class AuthorService {
 public:
  AuthorService(Loop& loop, AuthorOptions options) : loop_(loop), model_(loop, options) {}

  Task<Result<void>> handle(HttpServerRequest request, HttpReply& reply);

 private:
  Task<Result<void>> complete(Result<ApiCall> call, HttpReply& reply);
  Task<Result<void>> stream(ApiCall call, Generation& generation, HttpReply& reply);
  Task<Result<void>> answer_at_once(ApiCall call, Generation& generation, HttpReply& reply);
  ApiAnswer new_answer(const ApiCall& call);
  std::int64_t created() const { return loop_.wall_now().ms_since_1970 / 1000; }

  Loop& loop_;
  AuthorModel model_;
  std::uint64_t last_id_ = 0;
  std::int64_t running_ = 0;
};

}  // namespace specgen
