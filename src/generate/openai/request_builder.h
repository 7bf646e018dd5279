#pragma once
// Builds the HTTP request of a Request for a server of a given profile: URL, headers, JSON. Pure. This file has
// the chat request and what it shares with forks; fork.h has the forks.

#include <string>
#include <string_view>

#include "base/json.h"
#include "generate/http/http_client.h"
#include "generate/model.h"
#include "generate/openai/endpoint_url.h"
#include "generate/openai/model_family.h"
#include "generate/openai/server_profile.h"

namespace specgen {

// A model on a server.
struct WireModel {
  EndpointUrl url;
  std::string model;
  const ServerProfile* profile = nullptr;
  const ModelFamily* family = nullptr;
  bool priorities = false;  // only if the server is configured for them; others refuse the request
};

struct WireRequest {
  std::string url = {};
  HttpHeaders headers = {};
  std::string body = {};
  // Text of ours that the server may repeat at the beginning of its answer; not part of the answer.
  std::string echoed_reasoning = {};
  std::string echoed_content = {};
};

// Options of one attempt.
struct SendingOptions {
  std::string request_id;    // for servers that accept one; no id is a prefix of another
  bool prompt_text = false;  // request the rendered prompt, for forks by raw text
};

// The conversation; reasoning on or off by Request::mode. Not for forks.
WireRequest chat_request(const WireModel& model, const Request& request,
                         const SendingOptions& sending);

// The parts. `body` is a JSON object.
void add_sampling(Json& body, const WireModel& model, const Request& request);
void add_routing(WireRequest& wire, Json& body, const WireModel& model, const Request& request,
                 const SendingOptions& sending);
enum class Reasoning { on, off, minimal };
void set_reasoning(Json& body, const ServerProfile& profile, Reasoning reasoning);
Json messages_json(const std::vector<Message>& messages);

// The header line with the key, for HttpRequest::secret_header; empty without a key.
std::string authorization(const std::string& key);

// A form of the text that is valid in a header and in a short field: itself, or a hash of it.
std::string routing_key(std::string_view affinity);

}  // namespace specgen
