#pragma once
// A plain client of a node, one request at a time over a socket that blocks: for commands that ask a node something,
// for tests, and for benchmarks. It reads replies as LMCache's client does, header first and then exactly the value.
// Not for the loop's thread where others wait.

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
  // `patience` is the longest that any one call to the system may take.
  static Result<NodeClient> connect(const KvAddress& address,
                                    Duration patience = std::chrono::seconds(10));

  Result<void> authenticate(std::string_view password);
  Result<void> set(std::string_view key, std::string_view value);
  // How many bytes of `room` are the value's; nothing on a miss. A value of another length than the room's is an error.
  Result<bool> get(std::string_view key, std::span<char> room);
  Result<std::optional<std::string>> get(std::string_view key);
  Result<bool> exists(std::string_view key);
  Result<bool> remove(std::string_view key);

  // Any command; its reply as a line (without the mark of its type), or a bulk's bytes. An error's words are an error.
  Result<std::string> ask(const std::vector<std::string>& words);

  int descriptor() const { return socket_.get(); }

 private:
  explicit NodeClient(Fd socket) : socket_(std::move(socket)) {}
  Result<void> send(std::string_view head, std::string_view value = {}, std::string_view tail = {});
  Result<std::string> read_line();
  Result<void> read_exactly(std::span<char> room);
  Result<std::optional<std::size_t>> read_bulk_header();

  Fd socket_;
  std::string buffered_;  // what came behind the line that was asked for
};

}  // namespace specgen
