#include "support/scripted_server.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <charconv>

#include "base/text.h"

namespace specgen {
namespace {

using boost::json::array;
using boost::json::object;

struct Split {
  ReceivedRequest request;
  bool complete = false;
};

// Removes one request from the front of the bytes.
Split take_request(std::string& bytes) {
  std::size_t head_end = bytes.find("\r\n\r\n");
  if (head_end == std::string::npos) return {};
  Split split;
  std::vector<std::string_view> lines =
      specgen::split(std::string_view(bytes).substr(0, head_end), '\n');
  std::vector<std::string_view> words = specgen::split(trim(lines[0]), ' ');
  if (words.size() > 1) {
    split.request.method = words[0];
    split.request.path = words[1];
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::size_t colon = lines[i].find(':');
    if (colon == std::string_view::npos) continue;
    split.request.headers.emplace_back(trim(lines[i].substr(0, colon)),
                                       trim(lines[i].substr(colon + 1)));
  }
  std::string_view length = header_value(split.request.headers, "content-length");
  std::size_t body_size = 0;
  std::from_chars(length.data(), length.data() + length.size(), body_size);
  if (bytes.size() < head_end + 4 + body_size) return {};
  split.request.body = bytes.substr(head_end + 4, body_size);
  bytes.erase(0, head_end + 4 + body_size);
  split.complete = true;
  return split;
}

object choice_of(int choice, object delta) {
  return {{"index", choice}, {"delta", std::move(delta)}, {"finish_reason", nullptr}};
}
std::string chunk_with(object choice) {
  return sse(compact_json(object{{"id", "c-1"}, {"choices", array{std::move(choice)}}}));
}

}  // namespace

Json ReceivedRequest::json() const {
  auto parsed = parse_json(body);
  return parsed ? *parsed : Json();
}

ServerStep send(std::string bytes) {
  return {.kind = ServerStep::Kind::send, .bytes = std::move(bytes)};
}
ServerStep pause(Duration time) {
  return {.kind = ServerStep::Kind::pause, .time = time};
}
ServerStep wait_for_client() {
  return {.kind = ServerStep::Kind::wait_for_client};
}
ServerStep next_request() {
  return {.kind = ServerStep::Kind::next_request};
}
ServerStep close_connection() {
  return {.kind = ServerStep::Kind::close};
}
ServerStep reset_connection() {
  return {.kind = ServerStep::Kind::reset};
}

ScriptedServer::ScriptedServer(Loop& loop, RealDriver& driver)
    : loop_(loop), listener_(loop, driver) {}

std::string ScriptedServer::https_url() const {
  return fmt::format("https://127.0.0.1:{}/v1", listener_.port());
}

Task<void> ScriptedServer::serve() {
  TaskGroup group(loop_);
  while (true) {
    RawPeer peer = co_await listener_.accept();
    ++connections_;
    group.spawn(talk(std::move(peer)));
  }
}

Task<void> ScriptedServer::talk(RawPeer peer) {
  std::string bytes;
  while (true) {
    Split split = take_request(bytes);
    if (split.complete) {
      received_.push_back(split.request);
      if (!co_await play(peer, scene_for(split.request))) co_return;
      continue;
    }
    std::string some = co_await peer.receive();
    if (some.empty()) co_return;
    bytes += some;
  }
}

std::vector<ServerStep> ScriptedServer::scene_for(const ReceivedRequest& request) {
  for (auto scene = scenes_.begin(); scene != scenes_.end(); ++scene) {
    if (!scene->path.empty() && scene->path != request.path) continue;
    std::string wrong = scene->check ? scene->check(request) : std::string();
    if (!wrong.empty()) complaints_.push_back(fmt::format("{}: {}", request.path, wrong));
    std::vector<ServerStep> steps = std::move(scene->steps);
    scenes_.erase(scene);
    return steps;
  }
  complaints_.push_back(fmt::format("unexpected request {} {}", request.method, request.path));
  return {close_connection()};
}

Task<bool> ScriptedServer::play(RawPeer& peer, std::vector<ServerStep> steps) {
  for (const ServerStep& step : steps) {
    switch (step.kind) {
      case ServerStep::Kind::send:
        if (!co_await peer.send(step.bytes)) {
          ++closed_by_client_;
          co_return false;
        }
        break;
      case ServerStep::Kind::pause:
        co_await loop_.sleep(step.time);
        break;
      case ServerStep::Kind::wait_for_client:
        while (!(co_await peer.receive()).empty()) continue;
        ++closed_by_client_;
        co_return false;
      case ServerStep::Kind::next_request:
        co_return true;
      case ServerStep::Kind::close:
        co_return false;
      case ServerStep::Kind::reset:
        peer.reset();
        co_return false;
    }
  }
  co_return false;
}

std::string sse_head(std::string_view content_type) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
                     content_type);
}

std::string plain_answer(int status, std::string_view content_type, std::string_view body,
                         std::string_view more_headers) {
  return fmt::format("HTTP/1.1 {} Said\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\r\n{}",
                     status, content_type, body.size(), more_headers, body);
}

std::string http_chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}
std::string last_chunk() {
  return "0\r\n\r\n";
}
std::string sse(std::string_view data) {
  return http_chunk(fmt::format("data: {}\n\n", data));
}

std::string content_event(std::string_view text, int choice) {
  return chunk_with(choice_of(choice, {{"content", text}}));
}
std::string reasoning_event(std::string_view text, std::string_view field) {
  return chunk_with(choice_of(0, {{field, text}}));
}
std::string text_event(std::string_view text, int choice) {
  return chunk_with({{"index", choice}, {"text", text}, {"finish_reason", nullptr}});
}
std::string finish_event(std::string_view reason, int choice) {
  return chunk_with({{"index", choice}, {"delta", object{}}, {"finish_reason", reason}});
}
std::string usage_event(int prompt, int completion, int cached) {
  object usage{{"prompt_tokens", prompt}, {"completion_tokens", completion}};
  if (cached >= 0) usage["prompt_tokens_details"] = object{{"cached_tokens", cached}};
  return sse(compact_json(object{{"choices", array{}}, {"usage", std::move(usage)}}));
}
std::string done_event() {
  return sse("[DONE]");
}

}  // namespace specgen
