#pragma once
// Source and destination of the bytes of a connection: a socket, TLS over a socket, or a fake in tests. Nothing here
// waits: an operation that cannot be done now returns `blocked`, and the owner of the stream decides when to try
// again.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace specgen {

class ByteStream {
 public:
  enum class Status : std::uint8_t {
    moved,    // at least one byte
    blocked,  // no byte now
    ended,    // the other end has closed, for reading or writing
  };
  struct Moved {
    Status status = Status::blocked;
    std::size_t bytes = 0;
  };

  virtual ~ByteStream() = default;
  // Fills the buffers in order. None of them may be empty.
  virtual Moved receive(std::span<const std::span<char>> buffers) = 0;
  // Sends the pieces in order. Empty ones are skipped.
  virtual Moved send(std::span<const std::string_view> pieces) = 0;
  // Sent bytes that have not reached the other end, as far as known.
  virtual std::size_t unacknowledged() const { return 0; }
};

}  // namespace specgen
