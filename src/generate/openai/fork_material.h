#pragma once
// What some fork strategies must ask the server for first: the prompt as its template renders it, and the token
// ids of the closing mark. Answers are cached, for as many prompts as a run has at a time. Owned by the model; a
// request is cancelled with the task that awaits it.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "generate/http/http_client.h"
#include "generate/openai/fork.h"
#include "runtime/loop.h"
#include "runtime/task.h"

namespace specgen {

class ForkMaterials {
 public:
  ForkMaterials(Loop& loop, HttpClient& http, const WireModel& model, const std::string& key)
      : loop_(loop), http_(http), model_(model), key_(key) {}

  Task<Result<ForkMaterial>> prepare(ForkStrategy strategy, const Request& request);

  // Remembers the rendered prompt that a main stream reported. Empty text is ignored.
  void learn_prompt(const std::vector<Message>& messages, const std::string& rendered);

 private:
  Task<Result<std::string>> rendered_prompt(const Request& request);
  Task<Result<std::string>> fetch_prompt(const Request& request);
  Task<Result<std::vector<std::int32_t>>> closing_ids(const Request& request);
  Task<Result<Json>> post(const Request& request, std::string url, std::string body);
  void keep(std::string key, std::string rendered);

  Loop& loop_;
  HttpClient& http_;
  const WireModel& model_;
  const std::string& key_;
  std::deque<std::pair<std::string, std::string>>
      prompts_;  // by a hash of the messages; oldest first
  std::map<std::string, std::vector<std::int32_t>> closings_;
};

}  // namespace specgen
