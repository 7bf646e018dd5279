#pragma once
// A simple client of a node, one request at a time over a blocking socket: for CLI commands, tests and benchmarks.
// It reads replies as LMCache's client does: the header, then exactly the value. Must not be used on the thread of a
// loop that serves others.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "kvcache/kv_address.h"

namespace specgen {

class NodeClient {
 public:
  // `patience` limits each system call.
  static Result<NodeClient> connect(const KvAddress& address,
                                    Duration patience = std::chrono::seconds(10));

  Result<void> authenticate(std::string_view password);
  Result<void> set(std::string_view key, std::string_view value);
  // False: a miss. A value of another length than `target` is an error.
  Result<bool> get(std::string_view key, std::span<char> target);
  Result<std::optional<std::string>> get(std::string_view key);
  Result<bool> exists(std::string_view key);
  Result<bool> remove(std::string_view key);

  // Any command; returns its reply as a line (without the type mark) or the bytes of a bulk string. An error
  // reply is an
  // error.
  Result<std::string> request(const std::vector<std::string>& arguments);

  int descriptor() const { return socket_.get(); }

 private:
  explicit NodeClient(Fd socket) : socket_(std::move(socket)) {}
  Result<void> send(std::string_view head, std::string_view value = {}, std::string_view tail = {});
  Result<std::string> read_line();
  Result<void> read_exactly(std::span<char> target);
  Result<std::optional<std::size_t>> read_bulk_header();

  Fd socket_;
  std::string buffered_;  // received behind the last line
};

}  // namespace specgen
