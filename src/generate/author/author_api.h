#pragma once
// The OpenAI-compatible JSON of the author's service: reads requests, writes answers. Pure. Fields that mean nothing
// to the author are ignored, as servers do.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "generate/model.h"

namespace specgen {

inline constexpr std::string_view kAuthorName = "specgen-author";

struct ApiCall {
  Request request;
  bool is_chat = true;           // else /v1/completions: reasoning and answer are one text
  bool opens_reasoning = false;  // the text completion must begin with <think>
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;  // with every delta, so that a cancelled call knows its cost
};

// Errors: bad_json with the place; unknown_name for a model other than the author.
Result<ApiCall> read_chat_call(const Json& body);
Result<ApiCall> read_completion_call(const Json& body);

// The author's chat template, for /apply-template. It ends in <think>, where the reasoning begins.
std::string render_messages(const std::vector<Message>& messages);
Result<std::vector<Message>> read_messages(const Json& body);

// One answer: its chunks, or all of it.
class ApiAnswer {
 public:
  ApiAnswer(const ApiCall& call, std::string id, std::int64_t created)
      : call_(call), id_(std::move(id)), created_(created) {}

  Json begin_chunk(int choice) const;  // chat only: the role
  Json chunk(const Delta& delta) const;
  Json end_chunk(int choice, FinishReason reason) const;
  Json usage_chunk(const Usage& usage) const;
  static void add_usage(Json& chunk, const Usage& so_far);

  struct Text {
    std::string reasoning;
    std::string content;
  };
  Json complete(const std::vector<Text>& texts, const Ended& ended) const;

 private:
  Json chunk_with(int choice, Json member, const FinishReason* reason) const;
  Json around(std::string_view object) const;

  const ApiCall& call_;
  std::string id_;
  std::int64_t created_;
};

Json error_json(const Error& error, std::string_view type);
Json models_json(std::int64_t created);

}  // namespace specgen
