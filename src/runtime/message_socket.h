#pragma once
// Messages with descriptors between us and a child that we started: the child's end is passed with
// Command::descriptors. A message is a text of at most 16 MiB and up to 250 descriptors (which is
// how memory is shared). What comes from a child is not trusted: a message that breaks the format
// is an error, the descriptors it brought are closed.

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

// Our end.
class MessageSocket {
 public:
  // The second is the child's end.
  static Result<std::pair<MessageSocket, Fd>> make_pair(Loop& loop, RealDriver& driver);

  Task<Result<void>> send(std::string body, std::vector<int> descriptors = {});
  Task<Result<std::optional<SocketMessage>>> receive();  // nothing: the other end is closed
  int descriptor() const { return fd_->get(); }          // to poll

 private:
  explicit MessageSocket(std::unique_ptr<AsyncFd> fd) : fd_(std::move(fd)) {}
  std::unique_ptr<AsyncFd> fd_;
  std::string buffered_;
  std::vector<Fd> descriptors_;
};

// The child's end, which may block. The reader keeps what came after the message it returned.
Result<void> send_message(int fd, std::string_view body, std::span<const int> descriptors = {});

class MessageReader {
 public:
  explicit MessageReader(int fd) : fd_(fd) {}
  Result<std::optional<SocketMessage>> receive();  // nothing: the other end is closed
  bool is_waiting(int patience_ms) const;          // whether receive() would have something to do

 private:
  int fd_;
  std::string buffered_;
  std::vector<Fd> descriptors_;
};

}  // namespace specgen
