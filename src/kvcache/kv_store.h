#pragma once
// The values of a KV node: stored by LLM servers, in memory that an evaluation may reclaim at any moment. Shared by
// the threads that serve clients; calls are short and never wait for a client.
//
// A value is stored in pages of 2 MiB (and a slot of a shared page for the rest), so that any page can be given back
// without moving others. A thread that sends or receives a value holds a Reader or Writer and touches the bytes only
// inside for_piece(): between two pieces the store may reclaim the pages. A reader then continues from a copy of the
// rest, and the bytes of a writer are discarded; neither notices.
//
// Values never change: the first writer of a key wins, and an incomplete value is never visible. The checksum is
// computed while bytes arrive; no byte is returned before all of them match it. The parts of a pair (kv_key.h) are
// kept and dropped together. Readers and writers must be destroyed before the store.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

inline constexpr std::size_t kMaxKeyBytes = 4096;
inline constexpr std::size_t kMaxValueBytes = std::size_t{128} << 20;

struct KvStoreSettings {
  Bytes host = {};  // maximum, including the drain
  Bytes drain =
      MiB(64);  // of it, never reclaimed: readers continue from it when their pages are reclaimed
  // Limit per task; above it, values of the same task are evicted.
  std::optional<Bytes> task_quota = {};
  // Of the LLM server, for the cost of recomputing a value; 0: unknown.
  double prefill_tokens_per_s = 0;
  double bytes_per_token = 0;
  Bytes ready_at_open = MiB(64);   // faulted in before open() returns; the rest follows
  Bytes ready_per_s = GiB(2);      // limit of faulting in, to leave memory bandwidth to others
  std::function<Time()> now = {};  // default: the system clock
};

// Why a value was dropped or refused; counted.
enum class KvLoss : std::uint8_t {
  evicted,
  reclaimed,
  quota,
  no_memory,
  task_ended,
  deleted,
  damaged,
  expired
};

// Since the start. The store updates all but slower_than_computing.
struct KvCounters {
  std::atomic<std::uint64_t> hits, misses, sets, repeated_sets, bytes_in, bytes_out;
  std::atomic<std::uint64_t>
      slower_than_computing;                // misses because computing is faster (break_even.h)
  std::atomic<std::uint64_t> quiet_misses;  // of values on a device on which a kernel is timed
  std::atomic<std::uint64_t> alarms;        // checksum mismatches
  std::atomic<std::uint64_t> cut_off;       // readers, because the drain was full
  std::atomic<std::uint64_t> lost[8];       // by KvLoss
};

class KvStore {
 public:
  class Reader;
  class Writer;
  class State;

  static Result<std::unique_ptr<KvStore>> open(KvStoreSettings settings);
  ~KvStore();

  // Null if there is no complete value, or it is damaged (then it is dropped, and an alarm counted). `after` is the
  // previous request of this client, from which the chain of a prompt is learned. read() checks all bytes at once,
  // about 5 ms for 36 MiB; find() leaves that to verify_some().
  std::unique_ptr<Reader> read(std::string_view key, std::string_view after = {});
  std::unique_ptr<Reader> find(std::string_view key, std::string_view after = {});
  bool contains(std::string_view key, std::string_view after = {});

  // Never null: bytes that cannot be stored (no memory, another writer was first, quota) are discarded.
  std::unique_ptr<Writer> write(std::string_view key, std::size_t bytes,
                                std::string_view after = {},
                                std::optional<Duration> time_to_live = std::nullopt);

  bool remove(std::string_view key);
  void clear();
  std::size_t size() const;  // keys

  // Soft pins: values of a pinned task are evicted last. An evaluation that needs memory still gets it.
  void pin(std::string_view task, Duration time_to_live);
  void unpin(std::string_view task);
  std::size_t drop_task(std::string_view task);  // returns the number of values

  // Returns pages to the system until restore(); returns how much, which is less than requested only if there is no
  // more. The memory is free when it returns.
  Bytes reclaim(Bytes bytes);
  void restore(Bytes bytes);

  // Adds memory of a device as a second place: values that are cold on the host move there, and come back when they are
  // requested (verify_some() of a reader returns not_yet meanwhile). device_missing without that GPU.
  Result<void> share_device(int device, Bytes bytes);
  // Blocks of 64 MiB. Nothing while the device is quiet.
  Bytes reclaim_device(int device, Bytes bytes);
  void restore_device(int device, Bytes bytes);
  // Quiet while a kernel is timed on the device: no copies, no unmapping; values on it are misses, and counted. When it
  // returns no operation is running on the device.
  void quiet(int device, bool is_quiet);
  Bytes shared_by(int device) const;
  Bytes used_on(int device) const;

  Bytes capacity() const;  // memory it may use now, without the drain
  Bytes used() const;      // by values, in pages and slots
  Bytes ready() const;     // faulted in and empty
  const KvCounters& counters() const;
  KvCounters& counters();

  State& state() { return *state_; }  // internal to this module

 private:
  explicit KvStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A value being sent. Not thread-safe.
class KvStore::Reader {
 public:
  virtual ~Reader() = default;
  virtual std::size_t bytes() const = 0;
  // For readers from find(): checks at most `max` further bytes, so that other work gets its turn. Bytes may
  // be requested
  // only after `yes`. `no` is a miss: the value is damaged (then it is dropped, and an alarm counted) or was reclaimed.
  enum class Verified : std::uint8_t { yes, not_yet, no };
  virtual Verified verify_some(std::size_t max) = 0;
  // The same, and copies the bytes while they are in the cache, for callers that do not use them before `yes`. `to` is
  // the destination of the complete value, the same in every call.
  virtual Verified copy_some(char* to, std::size_t max) = 0;
  // Calls `use` with at most `max` contiguous bytes from `offset`, valid during the call only, which must not wait.
  // Returns the result of `use`, the number of bytes it consumed. Offsets must not decrease. Nothing if the value was
  // reclaimed and the drain was full: the connection must be closed.
  virtual std::optional<std::size_t> for_piece(
      std::size_t offset, std::size_t max,
      const std::function<std::size_t(std::span<const char>)>& use) = 0;
};

// A value being received, front to back. Destroyed before publish(), it leaves nothing.
class KvStore::Writer {
 public:
  virtual ~Writer() = default;
  // Calls `fill` with a buffer for the next bytes; it returns how many it wrote. The buffer may be a scratch buffer.
  virtual std::size_t for_piece(std::size_t max,
                                const std::function<std::size_t(std::span<char>)>& fill) = 0;
  virtual std::size_t left() const = 0;
  // Call when left() is 0. A time to live that is known only now (a SET has it behind the value) overrides that of
  // write().
  virtual void publish(std::optional<Duration> time_to_live = std::nullopt) = 0;
};

}  // namespace specgen
