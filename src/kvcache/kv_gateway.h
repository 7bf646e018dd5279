#pragma once
// Many nodes as one, on the serving host: a Redis server whose values lie in nodes. Threads of its own; destroying it
// closes every connection. Nodes come and go: a lost one is misses, and is used again when it is back.
//
//   auto gateway = TRY(KvGateway::start({.listen = "127.0.0.1:6380", .nodes = {"10.0.0.2:6380,weight=2", ...}}));

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct KvGatewaySettings {
  std::string listen;              // HOST:PORT or unix:PATH
  std::vector<std::string> nodes;  // the same, with ,weight=N
  std::size_t threads = 0;         // 0: half of the cores, 8 at most
  std::string password = {};  // of the nodes; and of the gateway, where other hosts can reach it
  Bytes buffers = MiB(1024);  // for values on their way out, of all threads
};

class KvGateway {
 public:
  static Result<std::unique_ptr<KvGateway>> start(KvGatewaySettings settings);
  virtual ~KvGateway() = default;

  virtual const std::string& address() const = 0;  // with the port that it got
  virtual std::string stats() const = 0;           // as KV.STATS tells them
};

}  // namespace specgen
