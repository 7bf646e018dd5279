#pragma once
// A fake model server that follows a script byte by byte, and checks the requests it gets. Each
// request takes the first unused scene for its path; a request without a scene, and one that a scene's check
// rejects, is a complaint. For tests of the client.
//
//   ScriptedServer server(loop, driver);
//   server.expect({.path = "/v1/chat/completions", .steps = {send(sse_head()), send(chunk), close()}});
//   TaskGroup group(loop);
//   group.spawn(server.serve());

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "generate/http/http_client.h"
#include "generate/http/raw_peer.h"
#include "runtime/task_group.h"

namespace specgen {

struct ReceivedRequest {
  std::string method;
  std::string path;
  HttpHeaders headers;
  std::string body;
  Json json() const;  // null if the body is not JSON
};

struct ServerStep {
  enum class Kind {
    send,
    pause,
    wait_for_client,  // until it closes the connection
    next_request,     // the connection stays open for another
    close,
    reset,
  };
  Kind kind = Kind::send;
  std::string bytes = {};
  Duration time = {};
};
ServerStep send(std::string bytes);
ServerStep pause(Duration time);
ServerStep wait_for_client();
ServerStep next_request();
ServerStep close_connection();
ServerStep reset_connection();

struct Scene {
  std::string path = {};  // empty: any
  // What is wrong with the request; empty if nothing.
  std::function<std::string(const ReceivedRequest&)> check = {};
  std::vector<ServerStep> steps = {};
};

class ScriptedServer {
 public:
  ScriptedServer(Loop& loop, RealDriver& driver);

  void expect(Scene scene) { scenes_.push_back(std::move(scene)); }
  Task<void> serve();  // until cancelled

  std::string url() const { return listener_.url("/v1"); }
  std::string https_url() const;
  const std::vector<ReceivedRequest>& received() const { return received_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  std::size_t scenes_left() const { return scenes_.size(); }
  int connections() const { return connections_; }
  int closed_by_client() const { return closed_by_client_; }

 private:
  Task<void> talk(RawPeer peer);
  Task<bool> play(RawPeer& peer, std::vector<ServerStep> steps);  // false: the connection has ended
  std::vector<ServerStep> scene_for(const ReceivedRequest& request);

  Loop& loop_;
  RawListener listener_;
  std::vector<Scene> scenes_;
  std::vector<ReceivedRequest> received_;
  std::vector<std::string> complaints_;
  int connections_ = 0;
  int closed_by_client_ = 0;
};

// Pieces of answers.
std::string sse_head(std::string_view content_type = "text/event-stream");
std::string plain_answer(int status, std::string_view content_type, std::string_view body,
                         std::string_view more_headers = {});
std::string sse(std::string_view data);  // "data: ...\n\n", as one HTTP chunk
std::string http_chunk(std::string_view bytes);
std::string last_chunk();
std::string content_event(std::string_view text, int choice = 0);
std::string reasoning_event(std::string_view text, std::string_view field = "reasoning_content");
std::string text_event(std::string_view text, int choice = 0);  // of /completions
std::string finish_event(std::string_view reason, int choice = 0);
std::string usage_event(int prompt, int completion, int cached = -1);
std::string done_event();

}  // namespace specgen
