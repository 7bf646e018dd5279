#pragma once
// The two servers that the KV cache bench compares, each a process of its own: a node, and the redis-server of
// Debian (also contained in redis-tools under another name).

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "kvcache/node_client.h"

namespace specgen {

class ServerProcess {
 public:
  // Null if it cannot be started, with the reason in `why`.
  static std::unique_ptr<ServerProcess> start_node(const std::string& memory,
                                                   const std::filesystem::path& shm_socket,
                                                   std::string& why);
  static std::unique_ptr<ServerProcess> start_redis(int io_threads, std::string& why);
  ~ServerProcess();  // ends the process
  ServerProcess(const ServerProcess&) = delete;

  NodeClient connect() const;
  const KvAddress& address() const { return address_; }
  pid_t pid() const { return pid_; }
  double resident_bytes() const;

 private:
  ServerProcess(pid_t pid, KvAddress address) : pid_(pid), address_(std::move(address)) {}
  static std::unique_ptr<ServerProcess> start(const std::filesystem::path& program,
                                              std::vector<std::string> arguments, int port,
                                              std::string& why);
  pid_t pid_;
  KvAddress address_;
};

}  // namespace specgen
