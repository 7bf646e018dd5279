#pragma once
// One client of a gateway: the same protocol as a node's, with the values in other places. GET, SET, EXISTS, DEL and
// MGET go to the node that a key belongs to; whatever happens to that node, the client gets a miss or an OK in its
// place. What concerns all of a store goes to all nodes; the rest is answered here, by the code that a node has for it.
//
// A SET is passed on as it comes. A GET is received whole, into one of a bounded set of buffers, before its first byte
// goes out: by then its seal has been checked. For one loop.

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
  std::atomic<std::uint64_t> alarms;  // values whose seal did not match
  std::atomic<std::uint64_t> clients, open;
};

// What the sessions of all threads share.
struct GatewayShared {
  explicit GatewayShared(KvStore& nothing) : service(nothing) {}

  std::vector<std::unique_ptr<GatewayNode>> nodes;
  std::string node_password;
  ChainTable chains;
  GatewayCounters counters{};
  KvService service;  // for the commands that are answered here; its store stays empty

  std::size_t node_of(std::uint64_t chain, Time now) const;
};
std::string gateway_stats(const GatewayShared& shared);

// Memory for values on their way out, of one thread. A taker waits while all of it is in use.
class ValueBuffers {
 public:
  // At least the largest value fits.
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
  std::size_t most_;
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
  Task<bool> receive();  // more of what the client says; false: it has left
  Task<bool> send(std::string_view head, std::string_view body = {}, std::string_view tail = {});
  Task<bool> flush();  // what was queued by commands
  Task<bool> pass_value();
  Task<bool> answer();
  Task<bool> give(std::string key);
  Task<std::int64_t> count_on_nodes(std::string_view command);  // EXISTS and DEL: one key at a time
  Task<std::int64_t> tell_all_nodes();  // the sum of what they answer in numbers
  Task<std::optional<ValueBuffers::Buffer>> fetch(const std::string& key, std::size_t& bytes);
  Task<NodeLink*> link_for(std::string_view key);  // null: it is lost
  NodeLink& link_to(std::size_t node);

  Loop& loop_;
  RealDriver& driver_;
  GatewayShared& shared_;
  ValueBuffers& buffers_;
  std::unique_ptr<KvSocket> socket_;
  KvClient client_;
  RespParser parser_;
  ChainFollower follower_;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by node; made when first needed
  std::unique_ptr<char[]> piece_;  // of a value that is passed on, while there is one
  std::string inbox_;
  std::size_t inbox_begin_ = 0;
};

}  // namespace specgen
