#include "kvcache/kv_store.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "kvcache/cuda_blocks.h"
#include "kvcache/kv_state.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kCheckedAtATime = std::size_t{1} << 20;

class StoreReader final : public KvStore::Reader {
 public:
  StoreReader(KvStore::State& state, std::shared_ptr<KvReading> reading)
      : state_(state), reading_(std::move(reading)) {}
  ~StoreReader() override {
    if (!is_verified_) ++state_.counters().misses;
    state_.end(reading_);
  }

  std::size_t bytes() const override { return reading_->bytes(); }

  Verified verify_some(std::size_t max) override { return copy_some(nullptr, max); }

  Verified copy_some(char* to, std::size_t max) override {
    if (is_verified_) return Verified::yes;
    switch (reading_->check(max, to)) {
      case KvReading::Check::not_done:
        return Verified::not_yet;
      case KvReading::Check::matches:
        is_verified_ = true;
        ++state_.counters().hits;
        return Verified::yes;
      case KvReading::Check::damaged:
        state_.damaged(*reading_);
        return Verified::no;
      case KvReading::Check::reclaimed:
        return Verified::no;
    }
    SG_PANIC("invalid Verified");
  }

  std::optional<std::size_t> for_piece(
      std::size_t offset, std::size_t max,
      const std::function<std::size_t(std::span<const char>)>& use) override {
    return reading_->for_piece(offset, max, use);
  }

 private:
  KvStore::State& state_;
  const std::shared_ptr<KvReading> reading_;
  bool is_verified_ = false;
};

class StoreWriter final : public KvStore::Writer {
 public:
  StoreWriter(KvStore::State& state, std::shared_ptr<KvWriting> writing, std::string_view after,
              std::optional<Duration> time_to_live)
      : state_(state), writing_(std::move(writing)), after_(after), time_to_live_(time_to_live) {}
  ~StoreWriter() override { state_.end(writing_); }

  std::size_t for_piece(std::size_t max,
                        const std::function<std::size_t(std::span<char>)>& fill) override {
    return writing_->for_piece(max, fill);
  }
  std::size_t left() const override { return writing_->left(); }
  void publish(std::optional<Duration> time_to_live) override {
    SG_ASSERT(left() == 0, "publish() of an incomplete value");
    state_.publish(writing_, after_, time_to_live ? time_to_live : time_to_live_);
  }

 private:
  KvStore::State& state_;
  const std::shared_ptr<KvWriting> writing_;
  const std::string after_;
  const std::optional<Duration> time_to_live_;
};

}  // namespace

Result<std::unique_ptr<KvStore>> KvStore::open(KvStoreSettings settings) {
  if (settings.host.count < settings.drain.count + PageArena::kPageBytes) {
    return fail(ErrorCode::bad_usage, "a KV cache of " + format_bytes(settings.host) +
                                          " has no capacity beside its drain of " +
                                          format_bytes(settings.drain));
  }
  auto drain = TRY(DrainPool::open(settings.drain));
  auto arena = TRY(PageArena::open({.max = {settings.host.count - settings.drain.count},
                                    .ready_at_open = settings.ready_at_open,
                                    .ready_per_s = settings.ready_per_s}));
  return std::unique_ptr<KvStore>(new KvStore(
      std::make_unique<State>(std::move(settings), std::move(arena), std::move(drain))));
}

KvStore::KvStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
KvStore::~KvStore() = default;

std::unique_ptr<KvStore::Reader> KvStore::find(std::string_view key, std::string_view after) {
  auto reading = state_->find(key, after);
  if (!reading) {
    ++state_->counters().misses;
    return nullptr;
  }
  return std::make_unique<StoreReader>(*state_, std::move(reading));
}

std::unique_ptr<KvStore::Reader> KvStore::read(std::string_view key, std::string_view after) {
  auto reader = find(key, after);
  Spin waiting;  // for a device
  while (reader) {
    switch (reader->verify_some(kCheckedAtATime)) {
      case Reader::Verified::yes:
        return reader;
      case Reader::Verified::not_yet:
        waiting.pause();
        break;
      case Reader::Verified::no:
        reader.reset();
    }
  }
  return nullptr;
}

bool KvStore::contains(std::string_view key, std::string_view after) {
  return state_->contains(key, after);
}

std::unique_ptr<KvStore::Writer> KvStore::write(std::string_view key, std::size_t bytes,
                                                std::string_view after,
                                                std::optional<Duration> time_to_live) {
  return std::make_unique<StoreWriter>(*state_, state_->begin(key, bytes), after, time_to_live);
}

bool KvStore::remove(std::string_view key) {
  return state_->remove(key);
}
void KvStore::clear() {
  state_->clear();
}
std::size_t KvStore::size() const {
  return state_->keys();
}
void KvStore::pin(std::string_view task, Duration time_to_live) {
  state_->pin(task, time_to_live);
}
void KvStore::unpin(std::string_view task) {
  state_->unpin(task);
}
std::size_t KvStore::drop_task(std::string_view task) {
  return state_->drop_task(task);
}
Bytes KvStore::reclaim(Bytes bytes) {
  return state_->reclaim(bytes);
}
void KvStore::restore(Bytes bytes) {
  state_->restore(bytes);
}

Result<void> KvStore::share_device(int device, Bytes bytes) {
  if (bytes.count < DeviceBlocks::kBlockBytes) {
    return fail(ErrorCode::bad_usage, "a device must share at least 64 MiB with the KV cache");
  }
  state_->share_device(device, TRY(open_cuda_blocks(device, bytes)), bytes);
  return {};
}
Bytes KvStore::reclaim_device(int device, Bytes bytes) {
  return state_->reclaim_device(device, bytes);
}
void KvStore::restore_device(int device, Bytes bytes) {
  state_->restore_device(device, bytes);
}
void KvStore::quiet(int device, bool is_quiet) {
  state_->quiet(device, is_quiet);
}
Bytes KvStore::shared_by(int device) const {
  return state_->shared_by(device);
}
Bytes KvStore::used_on(int device) const {
  return state_->used_on(device);
}

Bytes KvStore::capacity() const {
  return {state_->arena().budget() * PageArena::kPageBytes};
}
Bytes KvStore::used() const {
  return state_->pool().used();
}
Bytes KvStore::ready() const {
  return {state_->arena().ready() * PageArena::kPageBytes};
}
const KvCounters& KvStore::counters() const {
  return state_->counters();
}
KvCounters& KvStore::counters() {
  return state_->counters();
}

}  // namespace specgen
