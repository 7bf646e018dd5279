#pragma once
// The protocol of the shared-memory transport between a node and a client on the same host: messages over a Unix
// socket that keeps their boundaries (SOCK_SEQPACKET), values through memory of the client.
//
// The client's first message is a Hello with one descriptor: a memfd of arena_bytes, sealed against shrinking. The
// node maps it and answers with a Reply. From then on each message is a Request followed by its key, and has one
// Reply. Requests are taken in order; pending ones are served concurrently, and their replies may arrive in any
// order. A range of the arena belongs to the client, except between a get or put that names it and the reply. The
// node copies, so nothing in its memory can be reached from outside, and it trusts nothing that it reads in messages
// or arena. A message that breaks these rules ends the connection, and with it the node's use of the arena.
//
// Both ends are on one host: numbers are in host byte order.

#include <cstdint>

namespace specgen::shm {

inline constexpr std::uint32_t kMagic = 0x4c564b53;  // "SKVL"
inline constexpr std::uint32_t kVersion = 2;         // 1: replies in order

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
  std::uint64_t offset = 0;  // in the arena, of the value
  std::uint64_t bytes = 0;   // get: the space for the value; put: its size
};

enum class Status : std::uint32_t {
  ok = 0,
  miss = 1,
  too_small = 2,  // the value exists and has `bytes`
  refused = 3,    // a hello: too many clients, arena too large, or not sealed
};

struct Reply {
  std::uint64_t id = 0;
  Status status = Status::ok;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;  // size of the copied value
};

inline constexpr std::uint32_t kMaxKeyBytes = 4096;
inline constexpr std::uint64_t kMaxValueBytes = std::uint64_t{128} << 20;

}  // namespace specgen::shm
