#pragma once
// What the connections of a KV node share: the store, the settings, the counters, the clients' links. One for a
// server; all its threads use it.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/break_even.h"
#include "kvcache/kv_reclaim.h"
#include "kvcache/kv_store.h"
#include "kvcache/link_meter.h"

namespace specgen {

enum class KvClose : std::uint8_t {  // why a connection ended; counted
  client_left,
  quit,
  malformed,
  half_sent,          // a command, and then nothing for too long
  unread,             // a reply that nobody took for too long
  not_authenticated,  // too many wrong passwords, or too much or too long without one
  value_gone,         // taken away in the middle, with no memory left to go on from
  too_many,           // connections
  server_ended,
};
inline constexpr std::size_t kKvCloses = 9;
std::string_view name_of(KvClose reason);

struct KvLimits {
  std::size_t connections = 20000;
  // A command or a reply that has begun and of which not a byte moves for so long ends its connection; so does one
  // that after this time has moved fewer bytes a second.
  Duration stalled = std::chrono::seconds(30);
  std::uint64_t slowest_bytes_per_s = 64 << 10;
  std::size_t wrong_passwords = 3;
};

struct KvServerCounters {
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> open = 0;
  std::atomic<std::uint64_t> commands = 0;
  std::atomic<std::uint64_t> wrong_passwords = 0;
  std::array<std::atomic<std::uint64_t>, kKvCloses> closed{};
};

struct KvService {
  KvService(KvStore& its_store, KvLimits its_limits = {})
      : store(its_store), limits(its_limits), reclaim(its_store) {}

  KvStore& store;
  const KvLimits limits;
  std::string password;  // empty: none is asked for
  ComputingRate rate;
  KvReclaim reclaim;
  KvServerCounters counters;
  LinkTable links;
  std::atomic<std::uint64_t> last_client = 0;
  std::vector<int> devices;  // GPUs that lend memory too
};

// Whether two secrets are equal, in a time that tells nothing about where they differ.
bool is_same_secret(std::string_view given, std::string_view expected);

}  // namespace specgen
