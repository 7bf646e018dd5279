#include "generate/openai/fork.h"

#include <boost/json.hpp>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
std::string_view embedded_quoted_fork();
std::string_view embedded_user_turn_fork();

namespace {

using boost::json::array;
using boost::json::object;

WireRequest finished(WireRequest wire, Json body, const WireModel& model, const Request& request,
                     const SendingOptions& sending) {
  add_sampling(body, model, request);
  add_routing(wire, body, model, request, sending);
  wire.body = compact_json(body);
  return wire;
}

WireRequest to(std::string url) {
  return {.url = std::move(url)};
}

WireRequest by_token_ids(const WireModel& model, const Request& request,
                         const ForkMaterial& material, const SendingOptions& sending) {
  array prompt(request.prefix->token_ids.begin(), request.prefix->token_ids.end());
  prompt.insert(prompt.end(), material.closing_ids.begin(), material.closing_ids.end());
  Json body = object{{"model", model.model}, {"prompt", std::move(prompt)}};
  return finished(to(model.url.api("/completions")), std::move(body), model, request, sending);
}

// Some templates write the opening mark; with others the model writes it.
std::string opening_after(std::string_view rendered, const ModelFamily& family) {
  bool there = rendered.ends_with(family.opener) || rendered.ends_with(trim(family.opener));
  return there ? std::string() : std::string(family.opener);
}

WireRequest by_raw_text(const WireModel& model, const Request& request,
                        const ForkMaterial& material, const SendingOptions& sending) {
  std::string prompt = material.rendered_prompt;
  prompt += opening_after(material.rendered_prompt, *model.family);
  prompt += request.prefix->text;
  prompt += closing_text(model, request);
  // The rendered prompt contains its special tokens already.
  Json body = object{{"model", model.model},
                     {"prompt", as_utf8(std::move(prompt))},
                     {"add_special_tokens", false}};
  return finished(to(model.url.api("/completions")), std::move(body), model, request, sending);
}

WireRequest by_prefill(const WireModel& model, const Request& request,
                       const SendingOptions& sending) {
  const std::string reasoning = as_utf8(request.prefix->text);
  // Empty content would leave the reasoning open.
  std::string start = request.answer_start.empty() ? "\n" : as_utf8(request.answer_start);
  std::string url = model.url.api("/chat/completions");
  Json messages = messages_json(request.messages);
  object last{{"role", "assistant"}};
  object json{{"model", model.model}};
  switch (model.profile->prefill) {
    case PrefillSpelling::reasoning_content:
      last["reasoning_content"] = reasoning;
      last["content"] = start;
      json["continue_final_message"] = "content";
      json["add_generation_prompt"] = false;
      break;
    case PrefillSpelling::reasoning_field:
      last["reasoning"] = reasoning;
      last["content"] = start;
      json["continue_final_message"] = true;
      json["add_generation_prompt"] = false;
      break;
    case PrefillSpelling::closed_text:
      start = model.family->opener_in_prompt ? "" : std::string(model.family->opener);
      start += reasoning + closing_text(model, request);
      last["content"] = start;
      json["continue_final_message"] = true;
      json["separate_reasoning"] = false;  // the server's parser fails on a prefix for some models
      break;
    case PrefillSpelling::prefix_flag:
      last["reasoning_content"] = reasoning;
      last["content"] = start;
      last["prefix"] = true;
      url = model.url.origin + "/beta/chat/completions";
      break;
    case PrefillSpelling::none:
      SG_ASSERT(false, "this profile has no prefill");
  }
  messages.get_array().push_back(std::move(last));
  json["messages"] = std::move(messages);
  WireRequest wire = to(std::move(url));
  wire.echoed_reasoning = reasoning;
  wire.echoed_content = start;
  return finished(std::move(wire), std::move(json), model, request, sending);
}

WireRequest by_quoting(std::string_view form, Reasoning reasoning, const WireModel& model,
                       const Request& request, const SendingOptions& sending) {
  constexpr std::string_view kPlace = "{reasoning}";
  std::string turn(trim(form));
  std::size_t place = turn.find(kPlace);
  SG_ASSERT(place != std::string::npos, "the text of a fork has no place for the reasoning");
  turn.replace(place, kPlace.size(), trim(request.prefix->text));
  // This answer begins with the opening fence, at which a stop text would end it.
  Request asked = request;
  asked.stop.clear();
  // Appended to the conversation, so that the server's prefix cache still applies.
  std::vector<Message> messages = request.messages;
  messages.push_back({Speaker::user, std::move(turn)});
  Json body = object{{"model", model.model}, {"messages", messages_json(messages)}};
  set_reasoning(body, *model.profile, reasoning);
  WireRequest wire = to(model.url.api("/chat/completions"));
  wire.echoed_content = request.answer_start;  // the model may write it itself
  return finished(std::move(wire), std::move(body), model, asked, sending);
}

}  // namespace

std::string closing_text(const WireModel& model, const Request& request) {
  return std::string(model.family->close) + request.answer_start;
}

bool can_fork(ForkStrategy strategy, const WireModel& model, const Request& request) {
  const ServerProfile& profile = *model.profile;
  switch (strategy) {
    case ForkStrategy::token_ids:
      return profile.tokenize != TokenizeSpelling::none && request.prefix &&
             !request.prefix->token_ids.empty();
    case ForkStrategy::raw_text:
      return profile.rendered != RenderedPrompt::unknown;
    case ForkStrategy::prefill:
      return profile.prefill != PrefillSpelling::none;
    case ForkStrategy::thinking_off_quoted:
      return profile.reasoning != ReasoningSwitch::none;
    case ForkStrategy::user_turn:
      break;
  }
  return true;
}

WireRequest fork_request(ForkStrategy strategy, const WireModel& model, const Request& request,
                         const ForkMaterial& material, const SendingOptions& sending) {
  SG_ASSERT(request.prefix, "a fork without a prefix");
  switch (strategy) {
    case ForkStrategy::token_ids:
      return by_token_ids(model, request, material, sending);
    case ForkStrategy::raw_text:
      return by_raw_text(model, request, material, sending);
    case ForkStrategy::prefill:
      return by_prefill(model, request, sending);
    case ForkStrategy::thinking_off_quoted:
      return by_quoting(embedded_quoted_fork(), Reasoning::off, model, request, sending);
    case ForkStrategy::user_turn:
      break;
  }
  return by_quoting(embedded_user_turn_fork(), Reasoning::minimal, model, request, sending);
}

}  // namespace specgen
