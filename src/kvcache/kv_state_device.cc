// The device part of KvStore: values that are cold on the host move to a device and come back from there.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "kvcache/kv_state.h"

namespace specgen {
namespace {

// Smaller values are not worth a page of a device.
constexpr std::size_t kMinDemoted = DevicePool::kPageBytes / 2;

}  // namespace

void KvStore::State::share_device(int device, std::unique_ptr<DeviceBlocks> blocks, Bytes max) {
  std::lock_guard lock(mutex_);
  const auto place = static_cast<EvictionOrder::Place>(tiers_.size() + 1);
  SG_ASSERT(place < EvictionOrder::kMaxPlaces, "too many devices");
  tiers_.push_back(std::make_unique<DeviceTier>(*this, device, place, std::move(blocks), max));
}

DeviceTier* KvStore::State::tier_of(int device) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(tiers_, device, [](auto& tier) { return tier->device(); });
  return found == tiers_.end() ? nullptr : found->get();
}

DeviceTier* KvStore::State::tier_at(EvictionOrder::Place place) {
  return tiers_[place - 1].get();
}

// The reachable part of a pair is useless then: a client that gets it and not the rest deletes the pair.
bool KvStore::State::is_out_of_reach(const Entry& entry) {
  return entry.place != EvictionOrder::kHost && !tier_at(entry.place)->is_usable();
}

bool KvStore::State::wants_memory() {
  // An eighth of the pages of the host is kept ready, so that a new value never waits for an eviction.
  const std::size_t budget = arena_->budget(), out = arena_->out();
  return out + budget / 8 > budget;
}

// The only part of an entry worth moving; null if there is none or several.
std::shared_ptr<const KvValue>* KvStore::State::movable_part(Entry& entry) {
  std::shared_ptr<const KvValue>* found = nullptr;
  for (auto& part : entry.parts) {
    if (!part || (!part->device && part->memory.is_inline())) continue;
    if (found) return nullptr;
    found = &part;
  }
  return found;
}

std::optional<DeviceTier::Demotion> KvStore::State::next_demotion(DeviceTier& tier) {
  std::lock_guard lock(mutex_);
  expire(now());
  while (std::optional<Id> first = order_.first()) {
    Entry& entry = *find_id(*first);
    const auto* part = movable_part(entry);
    if (!part || (*part)->bytes < kMinDemoted) {
      unlink(entry, KvLoss::evicted);
      if (!wants_memory()) return std::nullopt;
      continue;
    }
    std::optional<DeviceSpace> space = tier.pool().take((*part)->bytes, entry.id);
    while (!space) {
      // Evict values on the device that are worth less.
      std::optional<Id> least = order_.first(tier.place());
      if (!least || order_.worth_of(*least) > order_.worth_of(entry.id)) return std::nullopt;
      unlink(*find_id(*least), KvLoss::evicted);
      space = tier.pool().take((*part)->bytes, entry.id);
    }
    order_.hold(entry.id);
    auto reading = std::make_shared<KvReading>(*part, *drain_, counters_);
    readings_.emplace(reading.get(), reading);
    return DeviceTier::Demotion{
        .reading = std::move(reading), .checksum = (*part)->checksum, .space = std::move(*space)};
  }
  return std::nullopt;
}

void KvStore::State::end(DeviceTier& tier, DeviceTier::Demotion demotion, DeviceTier::End how) {
  {
    std::lock_guard lock(mutex_);
    const std::shared_ptr<const KvValue> moved = demotion.reading->value();
    Entry* entry = find_id(demotion.reading->entry());
    auto* part = entry ? movable_part(*entry) : nullptr;
    if (part && *part == moved && how == DeviceTier::End::done) {
      auto value = std::make_shared<KvValue>();
      value->bytes = moved->bytes;
      value->checksum = moved->checksum;
      value->entry = moved->entry;
      value->device = std::move(demotion.space);
      *part = std::move(value);
      entry->place = tier.place();
      order_.move(entry->id, tier.place());
    } else if (entry && how == DeviceTier::End::damaged) {
      ++counters_.alarms;
      unlink(*entry, KvLoss::damaged);
    }
  }
  end(demotion.reading);
}

// For find(): starts to bring the value back to the host. Null: a miss.
std::shared_ptr<const KvValue> KvStore::State::fetch(Entry& entry,
                                                     std::shared_ptr<const KvValue> stored) {
  if (entry.arriving) return entry.arriving->value();
  std::optional<ValueMemory> memory = allocate(stored->bytes, entry.id);
  if (!memory) return nullptr;
  auto value = std::make_shared<KvValue>();
  value->bytes = stored->bytes;
  value->checksum = stored->checksum;
  value->entry = entry.id;
  value->memory = std::move(*memory);
  entry.arriving = std::make_shared<KvArriving>(value);
  arrivals_.insert(entry.arriving);
  tier_at(entry.place)->fetch({.stored = std::move(stored), .arriving = entry.arriving});
  return value;
}

void KvStore::State::end(DeviceTier& tier, const DeviceTier::Fetch& fetch, DeviceTier::End how) {
  std::lock_guard lock(mutex_);
  arrivals_.erase(fetch.arriving);
  Entry* entry = find_id(fetch.stored->entry);
  auto* part = entry ? movable_part(*entry) : nullptr;
  const bool is_still_wanted = part && *part == fetch.stored;
  if (is_still_wanted) entry->arriving.reset();
  const std::shared_ptr<const KvValue> value = fetch.arriving->value();
  if (how == DeviceTier::End::done && is_still_wanted && value) {
    *part = value;
    entry->place = EvictionOrder::kHost;
    order_.move(entry->id, EvictionOrder::kHost);
  } else if (how == DeviceTier::End::stopped && fetch.arriving->discard() && !tier.is_usable()) {
    ++counters_.quiet_misses;
  }
}

void KvStore::State::wake_tiers() {
  if (tiers_.empty() || !wants_memory()) return;
  for (const auto& tier : tiers_) tier->wake();
}

void KvStore::State::quiet(int device, bool is_quiet) {
  if (DeviceTier* tier = tier_of(device)) tier->quiet(is_quiet);
}

Bytes KvStore::State::reclaim_device(int device, Bytes bytes) {
  DeviceTier* tier = tier_of(device);
  if (!tier || !tier->is_usable()) return {0};
  DeviceTier::Pause pause(*tier);
  DevicePool& pool = tier->pool();
  const std::size_t blocks =
      pool.shrink((bytes.count + DeviceBlocks::kBlockBytes - 1) / DeviceBlocks::kBlockBytes);
  if (pool.over_budget() > 0) {
    std::lock_guard lock(mutex_);
    // Whole blocks, of least worth first.
    std::vector<std::pair<double, DevicePool::Block>> all;
    for (DevicePool::Block& block : pool.blocks()) {
      double worth = 0;
      for (Id owner : block.owners) worth += order_.worth_of(owner);
      all.emplace_back(worth, std::move(block));
    }
    const std::size_t count = std::min(pool.over_budget(), all.size());
    std::ranges::sort(all, {}, [](const auto& block) { return block.first; });
    for (const auto& [worth, block] : std::span(all).first(count)) {
      pool.close(block.number);
      for (Id owner : block.owners) {
        if (Entry* entry = find_id(owner)) unlink(*entry, KvLoss::reclaimed);
      }
    }
  }
  tier->stop_fetches();  // they hold the space they read from
  pool.drop_closed();
  return {blocks * DeviceBlocks::kBlockBytes};
}

void KvStore::State::restore_device(int device, Bytes bytes) {
  DeviceTier* tier = tier_of(device);
  if (!tier) return;
  tier->pool().grow(bytes.count / DeviceBlocks::kBlockBytes);
  tier->wake();
}

Bytes KvStore::State::shared_by(int device) {
  DeviceTier* tier = tier_of(device);
  return tier ? tier->pool().budget() : Bytes{0};
}

Bytes KvStore::State::used_on(int device) {
  DeviceTier* tier = tier_of(device);
  return tier ? tier->pool().used() : Bytes{0};
}

}  // namespace specgen
