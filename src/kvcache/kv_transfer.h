#pragma once
// Values on their way out and in: what a Reader and a Writer share with the store, which may take their pages away
// between two pieces. Of the room's own.
//
// Each has a small mutex of its own, held for one piece. Nobody who holds it asks for the store's; the other way round
// is allowed.

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

// Never changed again: whole in memory of the host or on a device, or on its way back from there.
struct KvValue {
  static constexpr std::size_t kLost = ~std::size_t{0};  // has arrived: nothing, and nothing will

  std::size_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t entry = 0;  // the id of what it is part of
  ValueMemory memory = {};
  std::optional<DeviceSpace> device = {};  // instead of memory
  std::atomic<std::size_t> arrived = 0;    // so many of its bytes are in memory
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

  enum class Check : std::uint8_t { matches, not_done, damaged, taken_away };
  // With `copy_to` the bytes go there on the way, from where the last call ended.
  Check check(std::size_t most, char* copy_to = nullptr);
  std::optional<std::size_t> for_piece(
      std::size_t offset, std::size_t most,
      const std::function<std::size_t(std::span<const char>)>& use);

  // For those who move it elsewhere and check it themselves. False if it was taken away.
  bool copy(std::size_t offset, std::span<char> to) const;

  // The store takes the pages: what was not sent is copied to the drain. False if the reader is cut off for want of it.
  // Before it is checked there is no need: then it is a miss.
  bool move_to_drain();
  void end();

  std::shared_ptr<const KvValue> value() const;  // null once it has been taken away

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
  std::size_t position_ = 0;    // nobody asks for what lies before
  std::size_t drained_at_ = 0;  // where in the value the drain's bytes begin
  std::vector<char*> drained_;
};

class KvWriting {
 public:
  // Without memory the bytes go nowhere.
  KvWriting(std::string key, std::uint64_t entry, std::size_t bytes,
            std::optional<ValueMemory> memory, KvCounters& counters)
      : key_(std::move(key)),
        entry_(entry),
        bytes_(bytes),
        memory_(std::move(memory)),
        counters_(counters) {}

  const std::string& key() const { return key_; }
  std::uint64_t entry() const {
    return entry_;
  }  // what it becomes, unless the other part of a pair is there
  std::size_t bytes() const { return bytes_; }
  std::size_t left() const { return bytes_ - received_; }
  std::size_t for_piece(std::size_t most, const std::function<std::size_t(std::span<char>)>& fill);

  bool throw_away();                                     // false if there is nothing (any more)
  std::shared_ptr<KvValue> finish(std::uint64_t entry);  // null where it was thrown away

 private:
  const std::string key_;
  const std::uint64_t entry_;
  const std::size_t bytes_;
  std::mutex mutex_;
  std::optional<ValueMemory> memory_;
  KvCounters& counters_;
  Checksum checksum_;
  std::size_t received_ = 0;  // of the writer's thread alone
};

// A value that comes back from a device into memory of the host, while readers wait for it.
class KvArriving {
 public:
  explicit KvArriving(std::shared_ptr<KvValue> value) : value_(std::move(value)) {}

  bool add(std::size_t offset, std::span<const char> bytes);  // false if it was thrown away
  bool throw_away();                                          // its readers have a miss
  std::shared_ptr<const KvValue> value() const;               // null once it was thrown away

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<KvValue> value_;
};

}  // namespace specgen
