#pragma once
// What a connection's bytes come from and go to: a socket, TLS over one, or in tests anything. Nothing here waits:
// what cannot be done now is `blocked`, and whoever owns the stream says when to try again.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace specgen {

class ByteStream {
 public:
  enum class Status : std::uint8_t {
    moved,    // at least a byte
    blocked,  // none now
    ended,    // the other end has no more to say, or does not listen any more
  };
  struct Moved {
    Status status = Status::blocked;
    std::size_t bytes = 0;
  };

  virtual ~ByteStream() = default;
  // Fills the rooms in their order. None of them is empty.
  virtual Moved receive(std::span<const std::span<char>> rooms) = 0;
  // Takes the pieces in their order. Empty ones are skipped.
  virtual Moved send(std::span<const std::string_view> pieces) = 0;
  // Bytes that were taken and have not reached the other end, as far as that is known.
  virtual std::size_t on_the_way() const { return 0; }
};

}  // namespace specgen
