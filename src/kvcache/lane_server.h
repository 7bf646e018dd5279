#pragma once
// The node's end of the same-host lane (lane_protocol.h): copies values between the store and the memory of clients on
// this host, some times faster than any socket. Threads of its own: a client is at home on one of them, and while more
// of its requests wait than that one is at, idle threads take some. Destroying the server closes all connections and
// lets go of the clients' memory.

#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "kvcache/client_threads.h"
#include "kvcache/kv_store.h"

namespace specgen {

struct LaneLimits {
  std::size_t threads = 0;      // 0: one for each core it may use, at most 16
  std::vector<int> cores = {};  // to keep to; empty: any
  std::size_t clients = 64;
  Bytes arena = GiB(1);   // of one client
  Bytes arenas = GiB(8);  // of all; they count as the node's memory until the client touches them
};

struct LaneCounters {
  std::atomic<std::uint64_t> clients, gets, puts, bytes_in, bytes_out;
  std::atomic<std::uint64_t> helped;      // times that another thread took requests of a client
  std::atomic<std::uint64_t> refused;     // at their hello
  std::atomic<std::uint64_t> misbehaved;  // connections closed for what they sent
};

class LaneServer {
 public:
  // A socket that is left over from a node that is gone is replaced; one that answers is an error.
  static Result<std::unique_ptr<LaneServer>> open(KvStore& store,
                                                  const std::filesystem::path& socket,
                                                  LaneLimits limits = {});
  ~LaneServer();
  LaneServer(const LaneServer&) = delete;
  LaneServer& operator=(const LaneServer&) = delete;

  const LaneCounters& counters() const { return counters_; }
  const std::filesystem::path& path() const { return socket_; }

 private:
  LaneServer(KvStore& store, std::filesystem::path socket, LaneLimits limits, std::size_t threads);
  friend class LaneConnection;

  KvStore& store_;
  std::filesystem::path socket_;
  LaneLimits limits_;
  LaneCounters counters_{};
  std::atomic<std::size_t> clients_ = 0;  // now
  std::atomic<std::uint64_t> arena_bytes_ = 0;
  std::vector<std::atomic<int>> busy_;      // of each thread: what it is at, or was called to
  std::unique_ptr<ClientThreads> threads_;  // last: they use the others
};

}  // namespace specgen
