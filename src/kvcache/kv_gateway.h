#pragma once
// Many nodes as one, on the host of the LLM server: a Redis server whose values are stored on nodes. Has threads of
// its own; destroying it closes every connection. Nodes may come and go: requests to a lost node are misses until it
// is back.
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
  std::string password = {};       // of the nodes, and of the gateway if other hosts can reach it
  Bytes buffers = MiB(1024);       // for values to be sent, of all threads
};

class KvGateway {
 public:
  static Result<std::unique_ptr<KvGateway>> start(KvGatewaySettings settings);
  virtual ~KvGateway() = default;

  virtual const std::string& address() const = 0;  // with the actual port
  virtual std::string stats() const = 0;           // as in KV.STATS
};

}  // namespace specgen
