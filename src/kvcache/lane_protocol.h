#pragma once
// The same-host lane: what a node and a client on its host say to each other over a Unix socket of whole messages
// (SOCK_SEQPACKET), while values go through memory of the client's own.
//
// The client's first message is a LaneHello with one descriptor: a memfd of arena_bytes, sealed against shrinking.
// The node maps it and answers with a LaneReply. From then on each message is a LaneRequest with its key behind it, and
// has one LaneReply. Requests are taken in order; those under way together are done side by side, and their replies
// come in any order. A place in the arena belongs to the client, except between a
// get or put that names it and the reply. The node copies, so nothing it holds can be reached from outside; it
// believes nothing that it reads in messages or arena. A message that breaks these rules ends the connection, and so
// the node's use of the arena.
//
// Both ends are on one host: numbers are as the host has them.

#include <cstdint>

namespace specgen::lane {

inline constexpr std::uint32_t kMagic = 0x4c564b53;  // "SKVL"
inline constexpr std::uint32_t kVersion = 2;         // 1: replies came in order

struct Hello {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint64_t arena_bytes = 0;
};

enum class Operation : std::uint32_t { get = 1, put = 2, exists = 3, remove = 4 };

struct Request {  // its key_bytes follow
  std::uint64_t id = 0;
  Operation operation = Operation::get;
  std::uint32_t key_bytes = 0;
  std::uint64_t offset = 0;  // in the arena: where the value goes to, or comes from
  std::uint64_t bytes = 0;   // get: the room there; put: the value
};

enum class Status : std::uint32_t {
  ok = 0,
  miss = 1,
  too_small = 2,  // the value is there and has `bytes`
  refused = 3,    // of a hello: too many clients, too large an arena, or not sealed
};

struct Reply {
  std::uint64_t id = 0;
  Status status = Status::ok;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;  // of the value that was copied
};

inline constexpr std::uint32_t kMaxKeyBytes = 4096;
inline constexpr std::uint64_t kMaxValueBytes = std::uint64_t{128} << 20;

}  // namespace specgen::lane
