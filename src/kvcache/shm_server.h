#pragma once
// The node's side of the shared-memory transport (shm_protocol.h): copies values between the store and the memory of
// clients on this host, several times faster than a socket. Has threads of its own: a client is assigned to one of
// them, and while more of its requests wait than that thread handles, idle threads take some. Destroying the server
// closes all connections and unmaps the memory of the clients.

#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "kvcache/client_threads.h"
#include "kvcache/kv_store.h"

namespace specgen {

struct ShmLimits {
  std::size_t threads = 0;      // 0: one per usable core, at most 16
  std::vector<int> cores = {};  // to pin the threads to; empty: none
  std::size_t clients = 64;
  Bytes arena = GiB(1);   // of one client
  Bytes arenas = GiB(8);  // of all; they count as memory of the node until the client touches them
};

struct ShmCounters {
  std::atomic<std::uint64_t> clients, gets, puts, bytes_in, bytes_out;
  std::atomic<std::uint64_t> helped;      // how often another thread took requests of a client
  std::atomic<std::uint64_t> refused;     // at the hello
  std::atomic<std::uint64_t> violations;  // connections closed for invalid messages
};

class ShmServer {
 public:
  // Replaces a socket left over from a node that has ended; one that answers is an error.
  static Result<std::unique_ptr<ShmServer>> open(KvStore& store,
                                                 const std::filesystem::path& socket,
                                                 ShmLimits limits = {});
  ~ShmServer();
  ShmServer(const ShmServer&) = delete;
  ShmServer& operator=(const ShmServer&) = delete;

  const ShmCounters& counters() const { return counters_; }
  const std::filesystem::path& path() const { return socket_; }

 private:
  ShmServer(KvStore& store, std::filesystem::path socket, ShmLimits limits, std::size_t threads);
  friend class ShmConnection;

  KvStore& store_;
  std::filesystem::path socket_;
  ShmLimits limits_;
  ShmCounters counters_{};
  std::atomic<std::size_t> clients_ = 0;  // connected now
  std::atomic<std::uint64_t> arena_bytes_ = 0;
  std::vector<std::atomic<int>> busy_;      // requests per thread, running or assigned
  std::unique_ptr<ClientThreads> threads_;  // last: they use the members above
};

}  // namespace specgen
