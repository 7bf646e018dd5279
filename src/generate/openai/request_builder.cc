#include "generate/openai/request_builder.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/hash.h"
#include "base/text.h"

namespace specgen {
namespace {

using boost::json::object;

std::string_view role_of(Speaker speaker) {
  switch (speaker) {
    case Speaker::system:
      return "system";
    case Speaker::user:
      return "user";
    case Speaker::assistant:
      break;
  }
  return "assistant";
}

// All servers accept seeds in this range.
constexpr std::uint64_t kSeedBits = 0x7fff'ffff;

}  // namespace

std::string authorization(const std::string& key) {
  return key.empty() ? std::string() : "Authorization: Bearer " + key;
}

std::string routing_key(std::string_view affinity) {
  constexpr std::size_t kMax = 64;
  auto is_plain = [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  bool plain = affinity.size() <= kMax && std::ranges::all_of(affinity, is_plain);
  return plain ? std::string(affinity) : sha256_hex(affinity).substr(0, 32);
}

Json messages_json(const std::vector<Message>& messages) {
  boost::json::array all;
  for (const Message& message : messages) {
    all.push_back(object{{"role", role_of(message.speaker)}, {"content", as_utf8(message.text)}});
  }
  return all;
}

void add_sampling(Json& body, const WireModel& model, const Request& request) {
  const ServerProfile& profile = *model.profile;
  object& json = body.get_object();
  json["stream"] = true;
  if (profile.stream_options) {
    object options{{"include_usage", true}};
    if (profile.continuous_usage) options["continuous_usage_stats"] = true;
    json["stream_options"] = std::move(options);
  }
  json[profile.max_tokens_field] = request.max_tokens;
  const Sampling& sampling = request.sampling;
  if (sampling.temperature) json["temperature"] = *sampling.temperature;
  if (sampling.top_p) json["top_p"] = *sampling.top_p;
  if (sampling.seed) json["seed"] = *sampling.seed & kSeedBits;
  if (!request.stop.empty()) {
    json["stop"] = boost::json::array(request.stop.begin(), request.stop.end());
  }
  if (request.count > 1 && profile.choices) json["n"] = request.count;
}

void add_routing(WireRequest& wire, Json& body, const WireModel& model, const Request& request,
                 const SendingOptions& sending) {
  const ServerProfile& profile = *model.profile;
  object& json = body.get_object();
  wire.headers.emplace_back("Content-Type", "application/json");
  wire.headers.emplace_back("Accept", "text/event-stream");
  if (!request.affinity.empty()) {
    std::string key = routing_key(request.affinity);
    if (!profile.affinity_header.empty()) wire.headers.emplace_back(profile.affinity_header, key);
    if (!profile.affinity_field.empty()) json[profile.affinity_field] = key;
  }
  if (model.priorities && profile.priority_sign != 0 && request.priority != 0) {
    json["priority"] = profile.priority_sign * request.priority;
  }
  if (profile.takes_request_id && !sending.request_id.empty()) json["rid"] = sending.request_id;
  if (profile.return_progress) json["return_progress"] = true;
}

void set_reasoning(Json& body, const ServerProfile& profile, Reasoning reasoning) {
  object& json = body.get_object();
  bool on = reasoning == Reasoning::on;
  if (reasoning == Reasoning::minimal) {
    if (!profile.low_effort.empty()) json["reasoning_effort"] = profile.low_effort;
    return;
  }
  switch (profile.reasoning) {
    case ReasoningSwitch::none:
      break;
    case ReasoningSwitch::template_kwargs:  // templates differ in which of the two they read
      json["chat_template_kwargs"] = object{{"enable_thinking", on}, {"thinking", on}};
      break;
    case ReasoningSwitch::thinking_type:
      json["thinking"] = object{{"type", on ? "enabled" : "disabled"}};
      break;
    case ReasoningSwitch::reasoning_object:
      json["reasoning"] = on ? object{{"enabled", true}} : object{{"effort", "none"}};
      break;
    case ReasoningSwitch::effort_none:  // on is the default, or not available
      if (!on) json["reasoning_effort"] = "none";
      break;
  }
}

WireRequest chat_request(const WireModel& model, const Request& request,
                         const SendingOptions& sending) {
  const ServerProfile& profile = *model.profile;
  WireRequest wire{.url = model.url.api("/chat/completions")};
  Json body = object{{"model", model.model}, {"messages", messages_json(request.messages)}};
  add_sampling(body, model, request);
  bool reasons = request.mode == Mode::reason;
  Reasoning off = profile.reasoning == ReasoningSwitch::none ? Reasoning::minimal : Reasoning::off;
  set_reasoning(body, profile, reasons ? Reasoning::on : off);
  if (reasons && profile.returns_token_ids) {
    body.get_object()["return_token_ids"] = true;
    if (!profile.prompt_ids_field.empty()) body.get_object()[profile.prompt_ids_field] = true;
  }
  if (reasons && sending.prompt_text && profile.rendered == RenderedPrompt::in_stream) {
    body.get_object()["return_prompt_text"] = true;
  }
  add_routing(wire, body, model, request, sending);
  wire.body = compact_json(body);
  return wire;
}

}  // namespace specgen
