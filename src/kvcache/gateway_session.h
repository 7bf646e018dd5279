#pragma once
// One client of a gateway: the protocol of a node, with the values stored on nodes. GET, SET, EXISTS, DEL and MGET
// go to the node that a key belongs to; whatever happens to that node, the client gets a miss or an OK instead of an
// error. Commands about the whole store go to all nodes; the rest is answered here by the code of a node.
//
// A SET is forwarded as it arrives. A GET is received completely into one of a bounded set of buffers and its seal
// is checked before the first byte goes to the client. Runs on one loop.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "kvcache/chain_table.h"
#include "kvcache/kv_commands.h"
#include "kvcache/node_link.h"
#include "kvcache/resp_parser.h"
#include "kvcache/sealed_value.h"
#include "runtime/sync.h"

namespace specgen {

struct GatewayCounters {
  std::atomic<std::uint64_t> hits, misses, sets, dropped_sets, bytes_in, bytes_out;
  std::atomic<std::uint64_t> alarms;  // values with a wrong seal
  std::atomic<std::uint64_t> clients, open;
};

// Shared by the sessions of all threads.
struct GatewayShared {
  explicit GatewayShared(KvStore& empty_store) : service(empty_store) {}

  std::vector<std::unique_ptr<GatewayNode>> nodes;
  std::string node_password;
  ChainTable chains;
  GatewayCounters counters{};
  KvService service;  // for commands that are answered here; its store stays empty

  std::size_t node_of(std::uint64_t chain, Time now) const;
};
std::string gateway_stats(const GatewayShared& shared);

// Buffers for values to be sent, of one thread. take() waits while all memory is in use.
class ValueBuffers {
 public:
  // Holds at least one value of the largest size.
  ValueBuffers(Loop& loop, std::size_t max_bytes);
  ~ValueBuffers();

  class Buffer {
   public:
    Buffer(ValueBuffers& owner, char* at, std::size_t bytes)
        : owner_(&owner), at_(at), bytes_(bytes) {}
    Buffer(Buffer&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), at_(other.at_), bytes_(other.bytes_) {}
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer();
    char* data() const { return at_; }

   private:
    ValueBuffers* owner_;
    char* at_;
    std::size_t bytes_;
  };
  Task<Buffer> take(std::size_t bytes);

 private:
  struct Piece {
    char* at;
    std::size_t bytes;
  };
  std::size_t max_bytes_;
  std::size_t mapped_ = 0;
  std::vector<Piece> free_;
  Event freed_;
};

class GatewaySession {
 public:
  GatewaySession(Loop& loop, RealDriver& driver, GatewayShared& shared, ValueBuffers& buffers,
                 std::unique_ptr<KvSocket> client);
  ~GatewaySession();

  Task<void> serve();

 private:
  Task<bool> receive();  // reads more from the client; false: it has disconnected
  Task<bool> send(std::string_view head, std::string_view body = {}, std::string_view tail = {});
  Task<bool> flush();  // sends the queued replies
  Task<bool> pass_value();
  Task<bool> answer();
  Task<bool> give(std::string key);
  Task<std::int64_t> count_on_nodes(std::string_view command);  // EXISTS and DEL: one key at a time
  Task<std::int64_t> send_to_all_nodes();  // returns the sum of their numeric replies
  Task<std::optional<ValueBuffers::Buffer>> fetch(const std::string& key, std::size_t& bytes);
  Task<NodeLink*> link_for(std::string_view key);  // null: the node is lost
  NodeLink& link_to(std::size_t node);

  Loop& loop_;
  RealDriver& driver_;
  GatewayShared& shared_;
  ValueBuffers& buffers_;
  std::unique_ptr<KvSocket> socket_;
  KvClient client_;
  RespParser parser_;
  ChainFollower follower_;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by node; created on first use
  std::unique_ptr<char[]> piece_;                 // buffer for a value that is being forwarded
  std::string inbox_;
  std::size_t inbox_begin_ = 0;
};

}  // namespace specgen
