#include "kvcache/kv_state.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kEntryOverhead = 512;  // approximate bookkeeping of an entry
constexpr std::uint64_t kMinOverhead = std::uint64_t{16} << 20;

}  // namespace

KvStore::State::State(KvStoreSettings settings, std::unique_ptr<PageArena> arena,
                      std::unique_ptr<DrainPool> drain)
    : settings_(std::move(settings)),
      arena_(std::move(arena)),
      drain_(std::move(drain)),
      pool_(*arena_),
      order_({.prefill_tokens_per_s = settings_.prefill_tokens_per_s,
              .bytes_per_token = settings_.bytes_per_token}) {}

// Threads first, then values, then the pools that values return to.
KvStore::State::~State() {
  for (const auto& tier : tiers_) tier->stop();
  entries_.clear();
}

Time KvStore::State::now() const {
  return settings_.now ? settings_.now() : Time(Duration(stopwatch_ns()));
}

KvStore::State::Entry* KvStore::State::find_base(std::string_view base) {
  auto found = by_base_.find(base);
  return found == by_base_.end() ? nullptr : found->second;
}

KvStore::State::Entry* KvStore::State::find_id(Id id) {
  auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

// A client looks up the metadata and then requests the bytes: without the bytes the pair counts as absent.
// Keys of other
// clients may have any ending.
const std::shared_ptr<const KvValue>* KvStore::State::find_part(const Entry& entry,
                                                                const KvKey& key) const {
  const auto& part = entry.parts[static_cast<std::size_t>(key.part)];
  if (!part) return nullptr;
  if (key.part == KvPart::metadata && !key.series.empty() &&
      !entry.parts[static_cast<std::size_t>(KvPart::bytes)]) {
    return nullptr;
  }
  return &part;
}

void KvStore::State::learn(const Entry& entry, std::string_view after) {
  if (after.empty() || entry.series.empty()) return;
  const KvKey before = parse_kv_key(after);
  if (before.series != entry.series || before.base == entry.base) return;
  if (const Entry* parent = find_base(before.base)) {
    order_.follow(entry.id, parent->id);
  } else if (being_written_.contains(after)) {
    early_[std::string(after)].insert(entry.id);
  }
}

std::shared_ptr<KvReading> KvStore::State::find(std::string_view key, std::string_view after) {
  const KvKey parsed = parse_kv_key(key);
  std::lock_guard lock(mutex_);
  expire(now());
  Entry* entry = find_base(parsed.base);
  if (!entry) return nullptr;
  const auto* part = find_part(*entry, parsed);
  if (!part) return nullptr;
  if (is_out_of_reach(*entry)) {
    ++counters_.quiet_misses;
    return nullptr;
  }
  learn(*entry, after);
  order_.use(entry->id);
  std::shared_ptr<const KvValue> value = (*part)->device ? fetch(*entry, *part) : *part;
  if (!value) return nullptr;
  order_.hold(entry->id);
  auto reading = std::make_shared<KvReading>(std::move(value), *drain_, counters_);
  readings_.emplace(reading.get(), reading);
  return reading;
}

bool KvStore::State::contains(std::string_view key, std::string_view after) {
  const KvKey parsed = parse_kv_key(key);
  std::lock_guard lock(mutex_);
  expire(now());
  Entry* entry = find_base(parsed.base);
  if (!entry || !find_part(*entry, parsed)) return false;
  if (is_out_of_reach(*entry)) return false;
  learn(*entry, after);
  order_.use(entry->id);
  return true;
}

void KvStore::State::end(const std::shared_ptr<KvReading>& reading) {
  reading->end();
  std::lock_guard lock(mutex_);
  readings_.erase(reading.get());
  order_.release(reading->entry());
}

void KvStore::State::damaged(const KvReading& reading) {
  std::lock_guard lock(mutex_);
  ++counters_.alarms;
  if (Entry* entry = find_id(reading.entry())) unlink(*entry, KvLoss::damaged);
}

std::shared_ptr<KvWriting> KvStore::State::begin(std::string_view key, std::size_t bytes) {
  const KvKey parsed = parse_kv_key(key);
  auto bytes_go_nowhere = [&] {
    return std::make_shared<KvWriting>(std::string(key), 0, bytes, std::nullopt, counters_);
  };
  std::lock_guard lock(mutex_);
  expire(now());
  const Entry* entry = find_base(parsed.base);
  const bool is_there = entry && entry->parts[static_cast<std::size_t>(parsed.part)];
  if (is_there || being_written_.contains(key)) {
    ++counters_.repeated_sets;
    return bytes_go_nowhere();
  }
  if (settings_.task_quota && !parsed.task.empty() && bytes > settings_.task_quota->count) {
    count(KvLoss::quota);
    return bytes_go_nowhere();
  }
  if (bytes > kMaxValueBytes || key.size() > kMaxKeyBytes) {
    count(KvLoss::no_memory);
    return bytes_go_nowhere();
  }
  // The other part of the pair must not be evicted to store this one.
  const Id other_part = entry ? entry->id : 0;
  if (entry) order_.hold(other_part);
  const Id id = ++last_id_;
  std::optional<ValueMemory> memory = allocate(bytes, id);
  if (entry) order_.release(other_part);
  if (!memory) {
    count(KvLoss::no_memory);
    return bytes_go_nowhere();
  }
  auto writing =
      std::make_shared<KvWriting>(std::string(key), id, bytes, std::move(memory), counters_);
  writings_.emplace(writing.get(), writing);
  being_written_.emplace(key);
  wake_tiers();
  return writing;
}

void KvStore::State::publish(const std::shared_ptr<KvWriting>& writing, std::string_view after,
                             std::optional<Duration> time_to_live) {
  ++counters_.sets;
  std::lock_guard lock(mutex_);
  if (!writings_.contains(writing.get())) return;  // its bytes were discarded from the start
  const KvKey key = parse_kv_key(writing->key());
  Entry* entry = find_base(key.base);
  if (entry && entry->place != EvictionOrder::kHost && writing->bytes() > kMaxInlineBytes) {
    unlink(*entry, KvLoss::evicted);  // an entry is in one place
    entry = nullptr;
  }
  const Id id = entry ? entry->id : writing->entry();
  std::shared_ptr<const KvValue> value = writing->finish(id);
  if (!value) return;
  if (!entry) entry = &make_entry(id, key);
  auto& part = entry->parts[static_cast<std::size_t>(key.part)];
  SG_ASSERT(!part, "a value exists while one is being written");
  part = std::move(value);
  ++keys_;
  const bool is_first =
      std::ranges::count_if(entry->parts, [](auto& p) { return p != nullptr; }) == 1;
  if (is_first) {
    order_.add(id, writing->bytes(), key.task);
  } else {
    order_.grow(id, writing->bytes());
  }
  learn(*entry, after);
  if (auto early = early_.extract(writing->key())) {
    for (Id child : early.mapped()) {
      if (find_id(child)) order_.follow(child, id);
    }
  }
  if (time_to_live) {
    if (entry->expires) deadlines_.erase({*entry->expires, id});
    entry->expires = now() + *time_to_live;
    deadlines_.emplace(*entry->expires, id);
  }
  keep_quota(key.task);
}

void KvStore::State::end(const std::shared_ptr<KvWriting>& writing) {
  std::lock_guard lock(mutex_);
  if (writings_.erase(writing.get()) == 0) return;
  writing->discard();
  being_written_.erase(writing->key());
  early_.erase(writing->key());
}

KvStore::State::Entry& KvStore::State::make_entry(Id id, const KvKey& key) {
  auto entry = std::make_unique<Entry>();
  entry->id = id;
  entry->base = key.base;
  entry->series = key.series;
  Entry& made = *entry;
  entries_.emplace(id, std::move(entry));
  by_base_.emplace(made.base, &made);
  key_bytes_ += made.base.size() + made.series.size();
  return made;
}

void KvStore::State::unlink(Entry& entry, KvLoss loss) {
  for (const auto& part : entry.parts) {
    if (!part) continue;
    --keys_;
    count(loss);
  }
  if (loss == KvLoss::evicted || loss == KvLoss::reclaimed) {
    order_.evict(entry.id);
  } else {
    order_.remove(entry.id);
  }
  if (entry.expires) deadlines_.erase({*entry.expires, entry.id});
  key_bytes_ -= entry.base.size() + entry.series.size();
  by_base_.erase(entry.base);
  entries_.erase(entry.id);
}

void KvStore::State::expire(Time now) {
  order_.expire_pins(now);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    unlink(*find_id(deadlines_.begin()->second), KvLoss::expired);
  }
}

// Memory outside the arena: keys, bookkeeping and the smallest values. It is limited too.
bool KvStore::State::is_overhead_used_up() const {
  const std::uint64_t limit = std::max(kMinOverhead, settings_.host.count / 16);
  return pool_.inline_bytes().count + key_bytes_ + entries_.size() * kEntryOverhead > limit;
}

std::optional<ValueMemory> KvStore::State::allocate(std::size_t bytes, Id owner) {
  while (is_overhead_used_up()) {
    if (!evict_one(KvLoss::evicted, false)) return std::nullopt;
  }
  while (true) {
    if (auto memory = pool_.take(bytes, owner)) return memory;
    if (!evict_one(KvLoss::evicted, bytes >= PageArena::kPageBytes)) return std::nullopt;
  }
}

// Evicts whole pages: values that share a page with a small value are evicted too. A large value has pages of its own,
// and the values that share its last page are large as well, so these stay.
bool KvStore::State::evict_one(KvLoss loss, bool with_neighbours) {
  std::optional<Id> first = order_.first();
  if (!first) return false;
  Entry& entry = *find_id(*first);
  std::vector<Id> neighbours;
  if (with_neighbours) {
    for (const auto& part : entry.parts) {
      if (!part || part->memory.has_pages()) continue;
      for (Id id : pool_.neighbours_of(part->memory)) neighbours.push_back(id);
    }
  }
  unlink(entry, loss);
  for (Id id : neighbours) {
    // Values being read or written are held, and children protect their parents.
    if (order_.is_offered(id)) unlink(*find_id(id), loss);
  }
  return true;
}

void KvStore::State::keep_quota(std::string_view task) {
  if (!settings_.task_quota || task.empty()) return;
  while (order_.bytes_of(task) > settings_.task_quota->count) {
    std::optional<Id> first = order_.first_of(task);
    if (!first) return;
    unlink(*find_id(*first), KvLoss::quota);
  }
}

bool KvStore::State::remove(std::string_view key) {
  const KvKey parsed = parse_kv_key(key);
  std::lock_guard lock(mutex_);
  expire(now());
  Entry* entry = find_base(parsed.base);
  if (!entry || !entry->parts[static_cast<std::size_t>(parsed.part)]) return false;
  unlink(*entry, KvLoss::deleted);
  return true;
}

void KvStore::State::clear() {
  std::lock_guard lock(mutex_);
  while (!entries_.empty()) unlink(*entries_.begin()->second, KvLoss::deleted);
}

std::size_t KvStore::State::keys() const {
  std::lock_guard lock(mutex_);
  return keys_;
}

void KvStore::State::pin(std::string_view task, Duration time_to_live) {
  std::lock_guard lock(mutex_);
  expire(now());
  if (order_.tasks() < kMaxTasks) order_.pin(task, now() + std::min(time_to_live, kMaxPin));
}

void KvStore::State::unpin(std::string_view task) {
  std::lock_guard lock(mutex_);
  order_.unpin(task);
}

std::size_t KvStore::State::drop_task(std::string_view task) {
  std::lock_guard lock(mutex_);
  const std::size_t before = keys_;
  for (Id id : order_.all_of(task)) unlink(*find_id(id), KvLoss::task_ended);
  order_.unpin(task);
  std::size_t dropped = before - keys_;
  for (auto& [_, writing] : writings_) {
    if (parse_kv_key(writing->key()).task != task || !writing->discard()) continue;
    count(KvLoss::task_ended);
  }
  return dropped;
}

Bytes KvStore::State::reclaim(Bytes bytes) {
  std::lock_guard one_at_a_time(reclaiming_);
  const std::size_t pages =
      arena_->shrink((bytes.count + PageArena::kPageBytes - 1) / PageArena::kPageBytes);
  reclaim_idle();
  reclaim_writings();
  reclaim_arrivals();
  reclaim_readings();
  arena_->give_back();
  return {pages * PageArena::kPageBytes};
}

void KvStore::State::restore(Bytes bytes) {
  arena_->grow(bytes.count / PageArena::kPageBytes);
}

void KvStore::State::reclaim_idle() {
  constexpr int kEvictedAtATime = 256;  // then the mutex is released once
  bool is_more = true;
  while (is_more && arena_->over_budget() > 0) {
    std::lock_guard lock(mutex_);
    for (int i = 0; i < kEvictedAtATime && is_more && arena_->over_budget() > 0; ++i) {
      is_more = evict_one(KvLoss::reclaimed, true);
    }
  }
}

void KvStore::State::reclaim_writings() {
  if (arena_->over_budget() == 0) return;
  std::vector<std::shared_ptr<KvWriting>> writings;
  {
    std::lock_guard lock(mutex_);
    for (auto& [_, writing] : writings_) writings.push_back(writing);
  }
  for (const auto& writing : writings) {
    if (arena_->over_budget() == 0) return;
    if (writing->discard()) count(KvLoss::reclaimed);
  }
}

void KvStore::State::reclaim_arrivals() {
  if (arena_->over_budget() == 0) return;
  std::set<std::shared_ptr<KvArriving>> arrivals;
  {
    std::lock_guard lock(mutex_);
    arrivals = arrivals_;
  }
  // The copies on the device stay; their readers get a miss.
  for (const auto& arriving : arrivals) arriving->discard();
}

// Values that are being sent, including removed ones that still have a reader: the unsent rest moves to the drain.
void KvStore::State::reclaim_readings() {
  while (arena_->over_budget() > 0) {
    std::vector<std::shared_ptr<KvReading>> readings;
    {
      std::lock_guard lock(mutex_);
      for (auto& [_, reading] : readings_) readings.push_back(reading);
    }
    bool is_any_left = false;
    for (const auto& reading : readings) {
      if (arena_->over_budget() == 0) return;
      std::shared_ptr<const KvValue> value = reading->value();
      if (!value) continue;
      is_any_left = true;
      {
        std::lock_guard lock(mutex_);
        Entry* entry = find_id(reading->entry());
        if (entry && entry->place == EvictionOrder::kHost &&
            std::ranges::find(entry->parts, value) != entry->parts.end()) {
          unlink(*entry, KvLoss::reclaimed);
        }
      }
      for (const auto& fellow : readings) {
        if (fellow->value() == value && !fellow->move_to_drain()) ++counters_.cut_off;
      }
    }
    if (is_any_left) continue;
    // Meanwhile a value was published, or an idle value got a reader.
    reclaim_idle();
    reclaim_writings();
    reclaim_arrivals();
  }
}

}  // namespace specgen
