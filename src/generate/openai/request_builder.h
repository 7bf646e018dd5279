#pragma once
// From a Request to the bytes that a server of a given profile wants: address, headers, JSON. Pure. Here
// is what main generations and forks have in common, and the chat request; fork.h has the forks.

#include <string>
#include <string_view>

#include "base/json.h"
#include "generate/http/http_client.h"
#include "generate/model.h"
#include "generate/openai/endpoint_url.h"
#include "generate/openai/model_family.h"
#include "generate/openai/server_profile.h"

namespace specgen {

// A model on a server, as requests name it.
struct WireModel {
  EndpointUrl url;
  std::string model;
  const ServerProfile* profile = nullptr;
  const ModelFamily* family = nullptr;
  bool priorities =
      false;  // the server was started so that it takes them; others refuse the request
};

struct WireRequest {
  std::string url = {};
  HttpHeaders headers = {};
  std::string body = {};
  // What the server may send back of what we had begun for it; it is no part of the answer.
  std::string echoed_reasoning = {};
  std::string echoed_content = {};
};

// What one sending of a request is called and asks to be told.
struct SendingOptions {
  std::string request_id;    // for servers that take one; no id is the beginning of another
  bool prompt_text = false;  // the rendered prompt, for forks by raw text
};

// The conversation as it is; reasoning on or off by Request::mode. Not for forks.
WireRequest chat_request(const WireModel& model, const Request& request,
                         const SendingOptions& sending);

// The parts. `body` is a JSON object.
void add_sampling(Json& body, const WireModel& model, const Request& request);
void add_routing(WireRequest& wire, Json& body, const WireModel& model, const Request& request,
                 const SendingOptions& sending);
enum class Thinking { on, off, as_little_as_possible };
void set_reasoning(Json& body, const ServerProfile& profile, Thinking reasoning);
Json messages_json(const std::vector<Message>& messages);

// The line that carries the key, for HttpRequest::secret_header; empty without a key.
std::string authorization(const std::string& key);

// A text that may stand in a header and in a short field: itself, or a hash of it.
std::string routing_key(std::string_view affinity);

}  // namespace specgen
