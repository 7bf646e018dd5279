#pragma once
// Messages between this process and a child, over a socket pair; the child's end is passed in
// Command::descriptors. A message has a body of at most 16 MiB and up to 250 descriptors (for shared
// memory). Messages from a child are not trusted: a malformed message is an error, and its descriptors
// are closed.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "runtime/async_fd.h"
#include "runtime/task.h"

namespace specgen {

struct SocketMessage {
  std::string body;
  std::vector<Fd> descriptors = {};
};

// The parent's end. Owns the socket; loop thread only. Cancelling send() may leave a partial message: close the socket
// then. receive() is cancel-safe.
class MessageSocket {
 public:
  // The second is the child's end.
  static Result<std::pair<MessageSocket, Fd>> make_pair(Loop& loop, RealDriver& driver);

  Task<Result<void>> send(std::string body, std::vector<int> descriptors = {});
  Task<Result<std::optional<SocketMessage>>> receive();  // nullopt: the other end is closed
  int descriptor() const { return fd_->get(); }          // for poll()

 private:
  explicit MessageSocket(std::unique_ptr<AsyncFd> fd) : fd_(std::move(fd)) {}
  std::unique_ptr<AsyncFd> fd_;
  std::string buffered_;
  std::vector<Fd> descriptors_;
};

// The child's end; these calls block. The reader buffers bytes behind the message it returned.
Result<void> send_message(int fd, std::string_view body, std::span<const int> descriptors = {});

class MessageReader {
 public:
  explicit MessageReader(int fd) : fd_(fd) {}
  Result<std::optional<SocketMessage>> receive();  // nullopt: the other end is closed
  bool is_waiting(int timeout_ms) const;           // whether there is something to receive

 private:
  int fd_;
  std::string buffered_;
  std::vector<Fd> descriptors_;
};

}  // namespace specgen
