#pragma once
// The implementation of KvStore: the index of entries and their readers and writers, under one mutex. An entry holds
// the parts of a pair, and is kept, evicted and deleted as one. Internal to this module.
//
// Every page in use can be found here at any time: through an entry, a reading or a writing. That is why reclaim()
// can get them all.

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kvcache/device_tier.h"
#include "kvcache/eviction_order.h"
#include "kvcache/kv_key.h"
#include "kvcache/kv_store.h"
#include "kvcache/kv_transfer.h"

namespace specgen {

class KvStore::State final : public DeviceTier::Store {
 public:
  State(KvStoreSettings settings, std::unique_ptr<PageArena> arena,
        std::unique_ptr<DrainPool> drain);
  ~State();

  std::shared_ptr<KvReading> find(std::string_view key, std::string_view after);
  bool contains(std::string_view key, std::string_view after);
  void end(const std::shared_ptr<KvReading>& reading);
  void damaged(const KvReading& reading);

  std::shared_ptr<KvWriting> begin(std::string_view key, std::size_t bytes);
  void publish(const std::shared_ptr<KvWriting>& writing, std::string_view after,
               std::optional<Duration> time_to_live);
  void end(const std::shared_ptr<KvWriting>& writing);

  bool remove(std::string_view key);
  void clear();
  std::size_t keys() const;

  void pin(std::string_view task, Duration time_to_live);
  void unpin(std::string_view task);
  std::size_t drop_task(std::string_view task);

  Bytes reclaim(Bytes bytes);
  void restore(Bytes bytes);

  // Devices (kv_state_device.cc).
  void share_device(int device, std::unique_ptr<DeviceBlocks> blocks, Bytes max);
  Bytes reclaim_device(int device, Bytes bytes);
  void restore_device(int device, Bytes bytes);
  void quiet(int device, bool is_quiet);
  Bytes shared_by(int device);
  Bytes used_on(int device);

  PageArena& arena() { return *arena_; }
  ValuePool& pool() { return pool_; }
  KvCounters& counters() { return counters_; }

 private:
  using Id = EvictionOrder::Id;
  static constexpr std::size_t kMaxTasks = 65'536;
  static constexpr Duration kMaxPin = std::chrono::hours(24);
  static constexpr std::size_t kParts = 3;  // of KvPart; at most two of them are used
  struct Entry {
    Id id = 0;
    std::string base;
    std::string series;
    std::array<std::shared_ptr<const KvValue>, kParts> parts;
    std::optional<Time> expires;
    EvictionOrder::Place place = EvictionOrder::kHost;  // of its bytes
    std::shared_ptr<KvArriving> arriving;               // coming back to the host
  };

  // The mutex must be held for all of these.
  Entry* find_base(std::string_view base);
  Entry* find_id(Id id);
  const std::shared_ptr<const KvValue>* find_part(const Entry& entry, const KvKey& key) const;
  Entry& make_entry(Id id, const KvKey& key);
  void learn(const Entry& entry, std::string_view after);
  void unlink(Entry& entry, KvLoss loss);
  void expire(Time now);
  std::optional<ValueMemory> allocate(std::size_t bytes, Id owner);
  bool evict_one(KvLoss loss, bool with_neighbours);
  void keep_quota(std::string_view task);
  bool is_overhead_used_up() const;

  std::shared_ptr<const KvValue>* movable_part(Entry& entry);
  std::shared_ptr<const KvValue> fetch(Entry& entry, std::shared_ptr<const KvValue> stored);
  DeviceTier* tier_at(EvictionOrder::Place place);
  bool is_out_of_reach(const Entry& entry);
  void wake_tiers();

  // The mutex must not be held for these.
  DeviceTier* tier_of(int device);
  bool wants_memory() override;
  std::optional<DeviceTier::Demotion> next_demotion(DeviceTier& tier) override;
  void end(DeviceTier& tier, DeviceTier::Demotion demotion, DeviceTier::End how) override;
  void end(DeviceTier& tier, const DeviceTier::Fetch& fetch, DeviceTier::End how) override;

  // Called one after the other until no page is over the budget.
  void reclaim_idle();
  void reclaim_writings();
  void reclaim_arrivals();
  void reclaim_readings();

  Time now() const;
  void count(KvLoss loss) { ++counters_.lost[static_cast<std::size_t>(loss)]; }

  const KvStoreSettings settings_;
  KvCounters counters_{};
  // Declared before the members that return pages to them.
  const std::unique_ptr<PageArena> arena_;
  const std::unique_ptr<DrainPool> drain_;
  ValuePool pool_;

  mutable std::mutex mutex_;
  std::unordered_map<Id, std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string_view, Entry*> by_base_;  // views of Entry::base
  EvictionOrder order_;
  std::set<std::pair<Time, Id>> deadlines_;
  std::unordered_map<const KvReading*, std::shared_ptr<KvReading>> readings_;
  std::unordered_map<const KvWriting*, std::shared_ptr<KvWriting>> writings_;
  std::set<std::string, std::less<>> being_written_;
  // By a key that is being written: values requested after it that are complete before it is.
  std::unordered_map<std::string, std::set<Id>> early_;
  std::set<std::shared_ptr<KvArriving>> arrivals_;
  std::vector<std::unique_ptr<DeviceTier>> tiers_;  // grows only
  Id last_id_ = 0;
  std::size_t keys_ = 0;
  std::uint64_t key_bytes_ = 0;

  std::mutex reclaiming_;  // one reclaim at a time; locked before mutex_
};

}  // namespace specgen
