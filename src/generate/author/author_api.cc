#include "generate/author/author_api.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <optional>

#include "base/text.h"
#include "generate/author/author_model.h"
#include "generate/author/author_text.h"

namespace specgen {
namespace {

using boost::json::array;
using boost::json::object;

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::size_t kMaxStops = 16;

std::unexpected<Error> bad_call(std::string what) {
  return fail(ErrorCode::bad_json, std::move(what));
}

Result<std::string> text_of_content(const Json& content, const std::string& where) {
  if (content.is_null()) return std::string();
  if (content.is_string()) return std::string(content.get_string());
  if (!content.is_array()) return bad_call(where + ".content is neither text nor a list of parts");
  std::string text;
  for (const Json& part : content.get_array()) {
    if (text_at(part, "type") != "text")
      return bad_call(where + ".content has a part that is not text");
    text += text_at(part, "text");
  }
  return text;
}

Result<Speaker> speaker_of(const std::string& role, const std::string& where) {
  if (role == "system" || role == "developer") return Speaker::system;
  if (role == "user" || role == "tool") return Speaker::user;
  if (role == "assistant") return Speaker::assistant;
  return bad_call(
      fmt::format("{}.role is '{}'; roles are system, user and assistant", where, role));
}

Result<void> read_model(const Json& body) {
  std::string name = text_at(body, "model");
  if (name.empty() || name == kAuthorName || name == "author") return {};
  return fail(ErrorCode::unknown_name,
              fmt::format("there is no model '{}' here, only {}", name, kAuthorName));
}

Result<std::optional<std::int64_t>> read_integer(const Json& body, std::string_view key) {
  const Json* found = member_at(body, key);
  if (!found || found->is_null()) return std::nullopt;
  if (!found->is_int64()) return bad_call(fmt::format("{} is not an integer", key));
  return found->get_int64();
}

Result<void> read_stops(const Json& body, Request& request) {
  const Json* stop = member_at(body, "stop");
  if (!stop || stop->is_null()) return {};
  auto add = [&](const Json& each) -> Result<void> {
    if (!each.is_string()) return bad_call("stop is neither a text nor a list of texts");
    request.stop.emplace_back(each.get_string());
    return {};
  };
  if (!stop->is_array()) return add(*stop);
  if (stop->get_array().size() > kMaxStops) return bad_call("there are too many stops");
  for (const Json& each : stop->get_array()) TRY(add(each));
  return {};
}

// The fields that chat and text completions share.
Result<ApiCall> read_call(const Json& body) {
  if (!body.is_object()) return bad_call("the body is not an object");
  TRY(read_model(body));
  ApiCall call;
  Request& request = call.request;
  request.total_timeout = std::chrono::hours(24);  // the client has its own timeout
  request.count = static_cast<int>(TRY(read_integer(body, "n")).value_or(1));
  if (request.count < 1 || request.count > kMaxChoices) {
    return bad_call(fmt::format("n is not between 1 and {}", kMaxChoices));
  }
  for (std::string_view key : {"max_tokens", "max_completion_tokens"}) {
    auto limit = TRY(read_integer(body, key));
    if (limit && *limit == 0) return bad_call(fmt::format("{} is 0", key));
    if (limit && *limit > 0) request.max_tokens = *limit;
  }
  auto seed = TRY(read_integer(body, "seed"));
  if (seed && *seed >= 0) request.sampling.seed = static_cast<std::uint64_t>(*seed);
  TRY(read_stops(body, request));
  call.stream = flag_at(body, "stream");
  const Json* options = member_at(body, "stream_options");
  call.include_usage = options && flag_at(*options, "include_usage");
  call.continuous_usage = call.include_usage && flag_at(*options, "continuous_usage_stats");
  return call;
}

bool is_false(const Json* object, std::string_view key) {
  const Json* found = object && object->is_object() ? member_at(*object, key) : nullptr;
  return found && found->is_bool() && !found->get_bool();
}

// Each kind of server has its own field for it.
bool is_reasoning_off(const Json& body) {
  const Json* kwargs = member_at(body, "chat_template_kwargs");
  const Json* reasoning = member_at(body, "reasoning");
  const Json* thinking = member_at(body, "thinking");
  return is_false(kwargs, "enable_thinking") || is_false(kwargs, "thinking") ||
         is_false(&body, "enable_thinking") || is_false(&body, "think") ||
         text_at(body, "reasoning_effort") == "none" || is_false(reasoning, "enabled") ||
         (reasoning && text_at(*reasoning, "effort") == "none") ||
         (thinking && text_at(*thinking, "type") == "disabled");
}

std::string_view without_leading_newlines(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  return text;
}

// Reasoning as text, closed or not, and the start of the answer behind it.
void read_reasoning(std::string_view text, Request& request) {
  std::size_t close = text.find(kClose);
  std::string_view reasoning = without_leading_newlines(text.substr(0, close));
  request.prefix = ReasoningPrefix{.text = std::string(reasoning), .token_ids = {}};
  request.mode = Mode::reason;
  if (close == std::string_view::npos) return;
  request.mode = Mode::answer;
  request.answer_start = without_leading_newlines(text.substr(close + kClose.size()));
}

// A last message by the assistant is the beginning of its answer.
void read_prefill(const Json& body, const Json& last, Request& request) {
  std::string content = std::move(request.messages.back().text);
  request.messages.pop_back();
  std::string reasoning = text_at(last, "reasoning_content");
  if (reasoning.empty()) reasoning = text_at(last, "reasoning");
  std::string_view said = trim(content);
  if (said.starts_with(kOpen)) content = content.substr(content.find(kOpen) + kOpen.size());
  if (said.starts_with(kOpen) || said.contains(kClose)) {
    read_reasoning(reasoning + content, request);
    return;
  }
  request.prefix = ReasoningPrefix{.text = std::move(reasoning), .token_ids = {}};
  bool stays_open = text_at(body, "continue_final_message") == "reasoning_content";
  request.mode = stays_open ? Mode::reason : Mode::answer;
  if (!stays_open) request.answer_start = without_leading_newlines(content);
}

std::string_view word_for(FinishReason reason) {
  return reason == FinishReason::length ? "length" : "stop";
}

Json usage_json(const Usage& usage) {
  return object{
      {"prompt_tokens", usage.prompt_tokens},
      {"completion_tokens", usage.completion_tokens},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
      {"prompt_tokens_details", object{{"cached_tokens", usage.cached_tokens}}},
      {"completion_tokens_details", object{{"reasoning_tokens", usage.reasoning_tokens}}}};
}

}  // namespace

Result<std::vector<Message>> read_messages(const Json& body) {
  const Json* list = body.is_object() ? member_at(body, "messages") : nullptr;
  if (!list || !list->is_array() || list->get_array().empty()) {
    return bad_call("messages is not a list of at least one message");
  }
  std::vector<Message> messages;
  for (const Json& each : list->get_array()) {
    std::string where = fmt::format("messages[{}]", messages.size());
    if (!each.is_object()) return bad_call(where + " is not an object");
    Message message;
    message.speaker = TRY(speaker_of(text_at(each, "role"), where));
    const Json* content = member_at(each, "content");
    if (content) message.text = TRY(text_of_content(*content, where));
    messages.push_back(std::move(message));
  }
  return messages;
}

Result<ApiCall> read_chat_call(const Json& body) {
  ApiCall call = TRY(read_call(body));
  call.request.messages = TRY(read_messages(body));
  call.request.mode = is_reasoning_off(body) ? Mode::answer : Mode::reason;
  if (call.request.messages.back().speaker == Speaker::assistant) {
    read_prefill(body, member_at(body, "messages")->get_array().back(), call.request);
  }
  return call;
}

Result<ApiCall> read_completion_call(const Json& body) {
  ApiCall call = TRY(read_call(body));
  call.is_chat = false;
  const Json* prompt = member_at(body, "prompt");
  if (prompt && prompt->is_array() && prompt->get_array().size() == 1) prompt = &prompt->at(0);
  if (!prompt || !prompt->is_string()) {
    return bad_call("prompt is not one text; the author has no token ids");
  }
  std::string_view text = prompt->get_string();
  std::size_t open = text.rfind(kOpen);
  call.request.messages = {{Speaker::user, std::string(text.substr(0, open))}};
  call.opens_reasoning = open == std::string_view::npos;
  if (!call.opens_reasoning) read_reasoning(text.substr(open + kOpen.size()), call.request);
  return call;
}

std::string render_messages(const std::vector<Message>& messages) {
  std::string prompt;
  for (const Message& message : messages) {
    std::string_view speaker = message.speaker == Speaker::system ? "system"
                               : message.speaker == Speaker::user ? "user"
                                                                  : "assistant";
    prompt += fmt::format("<|{}|>\n{}\n", speaker, message.text);
  }
  return prompt + "<|assistant|>\n<think>\n";
}

Json ApiAnswer::around(std::string_view kind) const {
  return object{{"id", id_},
                {"object", kind},
                {"created", created_},
                {"model", kAuthorName},
                {"system_fingerprint", kAuthorIsNoModel}};
}

Json ApiAnswer::chunk_with(int choice, Json member, const FinishReason* reason) const {
  Json json = around(call_.is_chat ? "chat.completion.chunk" : "text_completion");
  object one{{"index", choice}};
  one[call_.is_chat ? "delta" : "text"] = std::move(member);
  one["finish_reason"] = reason ? Json(word_for(*reason)) : Json(nullptr);
  json.get_object()["choices"] = array{std::move(one)};
  return json;
}

Json ApiAnswer::begin_chunk(int choice) const {
  return chunk_with(choice, object{{"role", "assistant"}}, nullptr);
}

Json ApiAnswer::chunk(const Delta& delta) const {
  if (!call_.is_chat) return chunk_with(delta.choice, Json(delta.text), nullptr);
  std::string_view key = delta.kind == DeltaKind::reasoning ? "reasoning_content" : "content";
  return chunk_with(delta.choice, object{{key, delta.text}}, nullptr);
}

Json ApiAnswer::end_chunk(int choice, FinishReason reason) const {
  return chunk_with(choice, call_.is_chat ? Json(object()) : Json(""), &reason);
}

Json ApiAnswer::usage_chunk(const Usage& usage) const {
  Json json = around(call_.is_chat ? "chat.completion.chunk" : "text_completion");
  json.get_object()["choices"] = array();
  add_usage(json, usage);
  return json;
}

void ApiAnswer::add_usage(Json& chunk, const Usage& so_far) {
  chunk.get_object()["usage"] = usage_json(so_far);
}

Json ApiAnswer::complete(const std::vector<Text>& texts, const Ended& ended) const {
  Json json = around(call_.is_chat ? "chat.completion" : "text_completion");
  array choices;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    object one{{"index", i}};
    if (call_.is_chat) {
      object message{{"role", "assistant"}, {"content", texts[i].content}};
      if (!texts[i].reasoning.empty()) message["reasoning_content"] = texts[i].reasoning;
      one["message"] = std::move(message);
    } else {
      one["text"] = texts[i].content;
    }
    one["finish_reason"] = word_for(ended.reasons[i]);
    choices.push_back(std::move(one));
  }
  json.get_object()["choices"] = std::move(choices);
  json.get_object()["usage"] = usage_json(ended.usage);
  return json;
}

Json error_json(const Error& error, std::string_view type) {
  return object{
      {"error", object{{"message", error.context.empty() ? error.summary() : error.context},
                       {"type", type},
                       {"param", nullptr},
                       {"code", fmt::format("E{}", static_cast<int>(error.code))}}}};
}

Json models_json(std::int64_t created) {
  object author{{"id", kAuthorName},          {"object", "model"},
                {"created", created},         {"owned_by", "specgen"},
                {"is_language_model", false}, {"description", kAuthorIsNoModel}};
  return object{{"object", "list"}, {"data", array{std::move(author)}}};
}

}  // namespace specgen
