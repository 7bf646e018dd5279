#pragma once
// A gateway's connection to one node. GatewayNode is shared by all threads: the address, and whether the node
// answers; a node that does not is not tried for a while, longer each time. NodeLink is one connection to it, for
// the session of one client on one loop: it connects on demand, and any failure is a `false`, after which the
// connection is closed and the next call may try again.

#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"
#include "kvcache/kv_address.h"
#include "kvcache/kv_socket.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/task.h"

namespace specgen {

class GatewayNode {
 public:
  // Resolves the name once.
  static Result<std::unique_ptr<GatewayNode>> find(const KvAddress& address, double weight);

  const KvAddress& address() const { return address_; }
  std::uint64_t name() const { return name_; }
  double weight() const { return weight_; }

  // Whether chains are assigned to it: a node that was lost a moment ago may be restarting. Later its chains go to the
  // other nodes, except for an occasional request that checks whether it is back.
  bool is_usable(Time now) const;
  bool may_try(Time now) const;
  void begin_try(Time now);  // while one session tries a lost node, the others skip it
  void lost(Time now);
  void reached();
  std::uint64_t losses() const { return losses_; }
  bool is_lost() const { return lost_since_ != 0; }

 private:
  friend class NodeLink;
  KvAddress address_;
  double weight_ = 1;
  std::uint64_t name_ = 0;
  sockaddr_storage place_{};
  socklen_t place_bytes_ = 0;
  std::atomic<std::int64_t> lost_since_ = 0;  // 0: it answers, as far as known
  std::atomic<std::int64_t> retry_at_ = 0;
  std::atomic<std::uint32_t> failures_ = 0;  // in a row
  std::atomic<std::uint64_t> losses_ = 0;
};

class NodeLink {
 public:
  NodeLink(Loop& loop, RealDriver& driver, GatewayNode& node, const std::string& password)
      : loop_(loop), driver_(driver), node_(node), password_(password) {}

  Task<bool> ready();
  Task<bool> send(std::string_view head, std::string_view body = {}, std::string_view tail = {});
  Task<std::optional<std::string>> receive_line();
  Task<std::size_t> receive_some(std::span<char> target);  // 0: the connection is lost
  void drop();                                             // after an unexpected reply

  GatewayNode& node() { return node_; }

 private:
  Task<bool> connect();
  Task<bool> wait();  // for the socket; false: timed out

  Loop& loop_;
  RealDriver& driver_;
  GatewayNode& node_;
  const std::string& password_;
  std::unique_ptr<KvSocket> socket_;
  std::string inbox_;  // received behind a line
};

}  // namespace specgen
