#include "generate/openai/fork_material.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "generate/openai/attempt_failure.h"
#include "runtime/race.h"

namespace specgen {
namespace {

using boost::json::object;

constexpr std::size_t kMaxPrompts = 64;
constexpr std::size_t kMaxClosings = 64;
constexpr auto kMaxWait = std::chrono::seconds(10);

std::string key_of(const std::vector<Message>& messages) {
  return sha256_hex(compact_json(messages_json(messages)));
}

Result<std::vector<std::int32_t>> token_list(const Json* json) {
  std::vector<std::int32_t> ids;
  if (json && json->is_array()) {
    for (const Json& id : json->get_array()) {
      boost::system::error_code not_a_number;
      ids.push_back(id.to_number<std::int32_t>(not_a_number));
      if (not_a_number) return fail(ErrorCode::bad_json, "a token is not a number");
    }
  }
  if (ids.empty()) return fail(ErrorCode::bad_json, "the server returned no tokens");
  return ids;
}

}  // namespace

Task<Result<ForkMaterial>> ForkMaterials::prepare(ForkStrategy strategy, const Request& request) {
  ForkMaterial material;
  if (strategy == ForkStrategy::raw_text) {
    material.rendered_prompt = CO_TRY(co_await rendered_prompt(request));
  } else if (strategy == ForkStrategy::token_ids) {
    material.closing_ids = CO_TRY(co_await closing_ids(request));
  }
  co_return material;
}

void ForkMaterials::learn_prompt(const std::vector<Message>& messages,
                                 const std::string& rendered) {
  if (!rendered.empty()) keep(key_of(messages), rendered);
}

void ForkMaterials::keep(std::string key, std::string rendered) {
  std::erase_if(prompts_, [&](const auto& kept) { return kept.first == key; });
  if (prompts_.size() >= kMaxPrompts) prompts_.pop_front();
  prompts_.emplace_back(std::move(key), std::move(rendered));
}

Task<Result<std::string>> ForkMaterials::rendered_prompt(const Request& request) {
  std::string key = key_of(request.messages);
  auto kept = std::ranges::find(prompts_, key, [](const auto& pair) { return pair.first; });
  if (kept != prompts_.end()) co_return kept->second;
  std::string rendered = CO_TRY(co_await fetch_prompt(request));
  if (rendered.empty()) co_return fail(ErrorCode::bad_json, "the rendered prompt is empty");
  keep(std::move(key), rendered);
  co_return rendered;
}

Task<Result<std::string>> ForkMaterials::fetch_prompt(const Request& request) {
  Json body = object{{"model", model_.model}, {"messages", messages_json(request.messages)}};
  if (model_.profile->rendered == RenderedPrompt::apply_template) {
    set_reasoning(body, *model_.profile, Reasoning::on);
    Json answer =
        CO_TRY(co_await post(request, model_.url.native("/apply-template"), compact_json(body)));
    co_return text_at(answer, "prompt");
  }
  // No main stream has reported it: tokenize, then detokenize.
  body.get_object()["add_generation_prompt"] = true;
  set_reasoning(body, *model_.profile, Reasoning::on);
  Json answer = CO_TRY(co_await post(request, model_.url.native("/tokenize"), compact_json(body)));
  auto ids = CO_TRY(token_list(member_at(answer, "tokens")));
  Json tokens =
      object{{"model", model_.model}, {"tokens", boost::json::array(ids.begin(), ids.end())}};
  Json text =
      CO_TRY(co_await post(request, model_.url.native("/detokenize"), compact_json(tokens)));
  co_return text_at(text, "prompt");
}

Task<Result<std::vector<std::int32_t>>> ForkMaterials::closing_ids(const Request& request) {
  std::string text = closing_text(model_, request);
  if (auto kept = closings_.find(text); kept != closings_.end()) co_return kept->second;
  Json body;
  if (model_.profile->tokenize == TokenizeSpelling::content_field) {
    body = object{{"content", text}, {"add_special", false}, {"parse_special", true}};
  } else {
    body = object{{"model", model_.model}, {"prompt", text}, {"add_special_tokens", false}};
  }
  Json answer = CO_TRY(co_await post(request, model_.url.native("/tokenize"), compact_json(body)));
  auto ids = CO_TRY(token_list(member_at(answer, "tokens")));
  if (closings_.size() >= kMaxClosings) closings_.clear();
  closings_[text] = ids;
  co_return ids;
}

Task<Result<Json>> ForkMaterials::post(const Request& fork, std::string url, std::string body) {
  Duration limit = std::min<Duration>(kMaxWait, fork.idle_timeout);
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = {{"Content-Type", "application/json"}};
  request.secret_header = authorization(key_);
  request.body = std::move(body);
  HttpResponse response =
      CO_TRY(co_await with_timeout(loop_, limit, fetch(http_, std::move(request)), std::move(url)));
  if (response.head.status != 200) {
    co_return std::unexpected(
        failure_of_answer(response.head, response.body, loop_.wall_now(), key_).error);
  }
  co_return parse_json(response.body);
}

}  // namespace specgen
