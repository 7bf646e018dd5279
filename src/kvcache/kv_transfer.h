#pragma once
// Values being sent and received: the state that a Reader and a Writer share with the store, which may reclaim their
// pages between two pieces. Internal to this module.
//
// Each has a small mutex of its own, held for one piece. A thread that holds it must not lock the mutex of the
// store; the opposite order is allowed.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kvcache/checksum.h"
#include "kvcache/device_pool.h"
#include "kvcache/drain_pool.h"
#include "kvcache/kv_store.h"
#include "kvcache/value_memory.h"

namespace specgen {

// Immutable: complete in memory of the host or on a device, or coming back from there.
struct KvValue {
  static constexpr std::size_t kLost =
      ~std::size_t{0};  // value of `arrived`: it was lost on the way

  std::size_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t entry = 0;  // the id of its entry
  ValueMemory memory = {};
  std::optional<DeviceSpace> device = {};  // instead of memory
  std::atomic<std::size_t> arrived = 0;    // number of its bytes in memory
};

class KvReading {
 public:
  KvReading(std::shared_ptr<const KvValue> value, DrainPool& drain, KvCounters& counters)
      : bytes_(value->bytes),
        entry_(value->entry),
        value_(std::move(value)),
        drain_(drain),
        counters_(counters) {}
  ~KvReading() { end(); }

  std::size_t bytes() const { return bytes_; }
  std::uint64_t entry() const { return entry_; }

  enum class Check : std::uint8_t { matches, not_done, damaged, reclaimed };
  // With `copy_to` the bytes are also copied there, from where the last call ended.
  Check check(std::size_t max, char* copy_to = nullptr);
  std::optional<std::size_t> for_piece(
      std::size_t offset, std::size_t max,
      const std::function<std::size_t(std::span<const char>)>& use);

  // For callers that move the value and check it themselves. False if it was reclaimed.
  bool copy(std::size_t offset, std::span<char> to) const;

  // The store reclaims the pages: the unsent rest is copied to the drain. False if the drain is full and the reader is
  // cut off. An unchecked value is not copied: it becomes a miss.
  bool move_to_drain();
  void end();

  std::shared_ptr<const KvValue> value() const;  // null once it was reclaimed

 private:
  const std::size_t bytes_;
  const std::uint64_t entry_;
  mutable std::mutex mutex_;
  std::shared_ptr<const KvValue> value_;
  DrainPool& drain_;
  KvCounters& counters_;
  std::unique_ptr<Checksum> checksum_;  // while it is being checked
  std::size_t checked_ = 0;
  bool is_checked_ = false;
  std::size_t position_ = 0;    // bytes before it are not requested again
  std::size_t drained_at_ = 0;  // offset in the value where the drain's bytes begin
  std::vector<char*> drained_;
};

class KvWriting {
 public:
  // Without memory the bytes are discarded.
  KvWriting(std::string key, std::uint64_t entry, std::size_t bytes,
            std::optional<ValueMemory> memory, KvCounters& counters)
      : key_(std::move(key)),
        entry_(entry),
        bytes_(bytes),
        memory_(std::move(memory)),
        counters_(counters) {}

  const std::string& key() const { return key_; }
  // The id that its entry gets, unless the other part of the pair exists.
  std::uint64_t entry() const { return entry_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t left() const { return bytes_ - received_; }
  std::size_t for_piece(std::size_t max, const std::function<std::size_t(std::span<char>)>& fill);

  bool discard();                                        // false if there are no bytes (any more)
  std::shared_ptr<KvValue> finish(std::uint64_t entry);  // null if it was discarded

 private:
  const std::string key_;
  const std::uint64_t entry_;
  const std::size_t bytes_;
  std::mutex mutex_;
  std::optional<ValueMemory> memory_;
  KvCounters& counters_;
  Checksum checksum_;
  std::size_t received_ = 0;  // used by the writer's thread only
};

// A value that is copied back from a device to the host while readers wait for it.
class KvArriving {
 public:
  explicit KvArriving(std::shared_ptr<KvValue> value) : value_(std::move(value)) {}

  bool add(std::size_t offset, std::span<const char> bytes);  // false if it was discarded
  bool discard();                                             // its readers get a miss
  std::shared_ptr<const KvValue> value() const;               // null once it was discarded

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<KvValue> value_;
};

}  // namespace specgen
