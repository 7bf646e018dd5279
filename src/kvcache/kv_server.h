#pragma once
// The RESP server of a KV node: threads of its own, over which connections are handed round. Owned by whoever wants the
// store served; destroying it closes every connection and joins the threads. It may be called from any one thread.
//
//   auto server = TRY(KvServer::start(*store, {.listen = "127.0.0.1:6380"}));
//
// Only programs of this host may connect unless `is_open`; from outside it always takes a password.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kvcache/kv_service.h"
#include "kvcache/kv_store.h"

namespace specgen {

struct KvServerSettings {
  std::string listen = {};      // HOST:PORT or unix:PATH
  std::size_t lanes = 0;        // threads; 0: one for each core it may use, at most 16
  std::vector<int> cores = {};  // to keep to; empty: any
  bool is_open = false;         // may be reached from other hosts
  std::string password = {};    // empty: none
  std::filesystem::path tls_certificate = {};  // and its key: both or neither
  std::filesystem::path tls_key = {};
  std::string metrics = {};  // HOST:PORT for Prometheus; empty: none
  ComputingRate rate = {};
  std::vector<int> devices = {};  // GPUs that lend memory to the store, for the counters
  KvLimits limits = {};
};

class KvServer {
 public:
  static Result<std::unique_ptr<KvServer>> start(KvStore& store, KvServerSettings settings);
  virtual ~KvServer() = default;

  virtual KvService& service() = 0;
  virtual const std::string& address() const = 0;  // with the port that it got
  virtual int port() const = 0;
  virtual int metrics_port() const = 0;
  virtual std::size_t lanes() const = 0;
};

}  // namespace specgen
