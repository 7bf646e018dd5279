#pragma once
// The values of a KV node: what engines stored, in memory that an evaluation may ask back at any moment. Shared by
// the threads that serve clients; every call here is short, none waits for a client.
//
// A value lives in pages of 2 MiB (and a slot of a shared page for what is left over), so that any page can be given
// back without moving its neighbours. Whoever sends or receives a value holds a Reader or Writer and touches its
// bytes only inside for_piece(): between two pieces the store may take the pages away. A reader then goes
// on from a copy of the rest, a writer's bytes are thrown away; neither has to know.
//
// Values never change: the first writer of a key wins, and nobody sees a value that is not whole. The checksum is
// taken as bytes come in; no byte is handed out before all of them match it. The parts of a pair (kv_key.h) are kept
// and dropped together. Readers and writers must be gone before the store is.

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
  Bytes host = {};        // that may be lent, drain and all
  Bytes drain = MiB(64);  // of it, never lent: where readers go on from when their pages are taken
  // Of one task's values; when there is more, its own go.
  std::optional<Bytes> task_quota = {};
  // Of the engine, for what a value would cost to compute again; 0: not known.
  double prefill_tokens_per_s = 0;
  double bytes_per_token = 0;
  Bytes ready_at_open = MiB(64);   // of pages, faulted in before open() returns; the rest follows
  Bytes ready_per_s = GiB(2);      // at most, so that others keep their memory bandwidth
  std::function<Time()> now = {};  // empty: the system's clock
};

// What a value was dropped or refused for; counted.
enum class KvLoss : std::uint8_t {
  evicted,
  reclaimed,
  quota,
  no_room,
  task_ended,
  deleted,
  damaged,
  expired
};

// Since the start; read while others count. The store counts all but slower_than_computing.
struct KvCounters {
  std::atomic<std::uint64_t> hits, misses, sets, repeated_sets, bytes_in, bytes_out;
  std::atomic<std::uint64_t> slower_than_computing;  // misses for the break-even's sake
  std::atomic<std::uint64_t> quiet_misses;           // of values on a device that is being timed
  std::atomic<std::uint64_t> alarms;                 // checksums that did not match
  std::atomic<std::uint64_t> cut_off;                // readers, for want of drain
  std::atomic<std::uint64_t> lost[8];                // by KvLoss
};

class KvStore {
 public:
  class Reader;
  class Writer;
  class State;

  static Result<std::unique_ptr<KvStore>> open(KvStoreSettings settings);
  ~KvStore();

  // Nothing where there is no whole value, or its bytes are not what was stored (then it is gone, and an alarm).
  // `after` is what this client asked for just before: the chain of a prompt is learned from that.
  // This checks all bytes at once, some 5 ms for 36 MiB; find() leaves that to verify_some().
  std::unique_ptr<Reader> read(std::string_view key, std::string_view after = {});
  std::unique_ptr<Reader> find(std::string_view key, std::string_view after = {});
  bool contains(std::string_view key, std::string_view after = {});

  // Always something to write into: bytes that cannot be kept (no room, another is first, quota) go nowhere.
  std::unique_ptr<Writer> write(std::string_view key, std::size_t bytes,
                                std::string_view after = {},
                                std::optional<Duration> time_to_live = std::nullopt);

  bool remove(std::string_view key);
  void clear();
  std::size_t size() const;  // keys

  // Soft pins: values of a live task go last. An evaluation that needs memory still wins.
  void pin(std::string_view task, Duration time_to_live);
  void unpin(std::string_view task);
  std::size_t drop_task(std::string_view task);  // how many values

  // Gives pages back to the system and does not take them again until restore(): how much, which is less than asked
  // for only if there is no more. Returns when the memory is free.
  Bytes reclaim(Bytes bytes);
  void restore(Bytes bytes);

  // Memory of a device as a second place: values that are cold on the host go there, and come back when they are asked
  // for (a reader's verify_some() says not_yet meanwhile). device_missing without that GPU.
  Result<void> lend_device(int device, Bytes bytes);
  // Blocks of 64 MiB. Nothing while the device is quiet.
  Bytes reclaim_device(int device, Bytes bytes);
  void restore_device(int device, Bytes bytes);
  // While something is timed on the device: no copy, no unmapping. What is there is a miss meanwhile, and counted.
  // Nothing is under way any more when it returns.
  void quiet(int device, bool is_quiet);
  Bytes lent_by(int device) const;
  Bytes used_on(int device) const;

  Bytes lent() const;   // what it may use now, without the drain
  Bytes used() const;   // by values, in pages and slots
  Bytes ready() const;  // faulted in and empty
  const KvCounters& counters() const;
  KvCounters& counters();

  State& state() { return *state_; }  // of the room's own

 private:
  explicit KvStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One value being sent. Not for two threads at once.
class KvStore::Reader {
 public:
  virtual ~Reader() = default;
  virtual std::size_t bytes() const = 0;
  // For readers from find(): checks at most so many bytes more, so that others get their turn in between. Only after
  // `yes` may bytes be asked for. `no`: they are damaged (the value is gone, and an alarm) or were taken away: a miss.
  enum class Verified : std::uint8_t { yes, not_yet, no };
  virtual Verified verify_some(std::size_t most) = 0;
  // The same, and copies the bytes in one go while they are near: for whoever tells nobody of them before `yes`. `to`
  // is where the whole value goes, the same in every call.
  virtual Verified copy_some(char* to, std::size_t most) = 0;
  // Calls `use` with contiguous bytes from `offset`, at most `most`; they are valid inside the call alone, which must
  // not wait. Returns what `use` does: how many bytes it took. Offsets only go forward. Nothing where the value could
  // not be saved from being taken away (there was no drain left): the connection cannot be gone on with.
  virtual std::optional<std::size_t> for_piece(
      std::size_t offset, std::size_t most,
      const std::function<std::size_t(std::span<const char>)>& use) = 0;
};

// One value being received, front to back. Dropped before publish(): it never was.
class KvStore::Writer {
 public:
  virtual ~Writer() = default;
  // Calls `fill` with room for the next bytes; it returns how many it wrote. The room may be of no value at all.
  virtual std::size_t for_piece(std::size_t most,
                                const std::function<std::size_t(std::span<char>)>& fill) = 0;
  virtual std::size_t left() const = 0;
  // When left() is 0. A life that is only known now (it stands behind the value in a SET) goes before write()'s.
  virtual void publish(std::optional<Duration> time_to_live = std::nullopt) = 0;
};

}  // namespace specgen
