#pragma once
// State shared by the connections of a KV node: the store, the settings, the counters, the links of the clients. One
// per server, used by all its threads.

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
  half_sent,          // an incomplete command, then no data for too long
  unread,             // the client did not read a reply for too long
  not_authenticated,  // too many wrong passwords, or too much data or time without one
  value_gone,         // reclaimed while being sent, with no drain memory left
  too_many,           // connections
  server_ended,
};
inline constexpr std::size_t kKvCloses = 9;
std::string_view name_of(KvClose reason);

struct KvLimits {
  std::size_t connections = 20000;
  // A connection ends if a command or reply makes no progress for so long, or less than the minimum rate after this
  // time.
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
  std::string password;  // empty: none required
  ComputingRate rate;
  KvReclaim reclaim;
  KvServerCounters counters;
  LinkTable links;
  std::atomic<std::uint64_t> last_client = 0;
  std::vector<int> devices;  // GPUs that share memory too
};

// Compares two secrets in a time that does not depend on where they differ.
bool is_same_secret(std::string_view given, std::string_view expected);

}  // namespace specgen
