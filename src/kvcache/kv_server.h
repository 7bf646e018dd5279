#pragma once
// The RESP server of a KV node, with threads of its own over which connections are distributed. Destroying it closes
// all connections and joins the threads. Not thread-safe itself.
//
//   auto server = TRY(KvServer::start(*store, {.listen = "127.0.0.1:6380"}));
//
// Only processes of this host may connect unless `is_open`; from other hosts a password is always required.

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
  std::string listen = {};                     // HOST:PORT or unix:PATH
  std::size_t threads = 0;                     // 0: one per usable core, at most 16
  std::vector<int> cores = {};                 // to pin the threads to; empty: none
  bool is_open = false;                        // other hosts may connect
  std::string password = {};                   // empty: none
  std::filesystem::path tls_certificate = {};  // with its key: both or neither
  std::filesystem::path tls_key = {};
  std::string metrics = {};  // HOST:PORT for Prometheus; empty: none
  ComputingRate rate = {};
  std::vector<int> devices = {};  // GPUs that share memory with the store, for the counters
  KvLimits limits = {};
};

class KvServer {
 public:
  static Result<std::unique_ptr<KvServer>> start(KvStore& store, KvServerSettings settings);
  virtual ~KvServer() = default;

  virtual KvService& service() = 0;
  virtual const std::string& address() const = 0;  // with the actual port
  virtual int port() const = 0;
  virtual int metrics_port() const = 0;
  virtual std::size_t threads() const = 0;
};

}  // namespace specgen
