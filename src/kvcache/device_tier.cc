#include "kvcache/device_tier.h"

#include <utility>

#include "kvcache/device_ring.h"

namespace specgen {

DeviceTier::DeviceTier(Store& store, int device, EvictionOrder::Place place,
                       std::unique_ptr<DeviceBlocks> blocks, Bytes max)
    : store_(store),
      device_(device),
      place_(place),
      blocks_(std::move(blocks)),
      pool_(*blocks_, max) {
  thread_.emplace([this](Loop& loop, RealDriver&) { return work(loop); });
}

DeviceTier::~DeviceTier() {
  stop();
}

void DeviceTier::stop() {
  if (!thread_) return;
  ++interrupts_;
  thread_.reset();
  stop_fetches();
}

void DeviceTier::wake() {
  if (is_woken_.exchange(true)) return;
  thread_->post([this] {
    if (to_do_) to_do_->set();
  });
}

void DeviceTier::fetch(Fetch fetch) {
  {
    std::lock_guard lock(queue_mutex_);
    queue_.push_back(std::move(fetch));
  }
  wake();
}

void DeviceTier::quiet(bool is_quiet) {
  Pause pause(*this);
  is_quiet_ = is_quiet;
  if (is_quiet) stop_fetches();
}

void DeviceTier::stop_fetches() {
  std::deque<Fetch> stopped;
  {
    std::lock_guard lock(queue_mutex_);
    stopped = std::exchange(queue_, {});
  }
  for (const Fetch& fetch : stopped) store_.end(*this, fetch, End::stopped);
}

Task<void> DeviceTier::work(Loop& loop) {
  Event to_do(loop);
  to_do_ = &to_do;
  while (true) {
    is_woken_ = false;
    while (do_one()) co_await loop.sleep(Duration(0));  // lets the thread handle posts and its end
    co_await to_do.wait();
    to_do.reset();
  }
}

// False when there is no work, or another caller wants the device; that caller wakes the tier afterwards.
bool DeviceTier::do_one() {
  if (interrupts_ > 0) return false;
  std::lock_guard lock(at_work_);
  if (must_stop()) {
    if (is_broken_) stop_fetches();
    return false;
  }
  std::optional<Fetch> fetch;
  {
    std::lock_guard queue_lock(queue_mutex_);
    if (!queue_.empty()) {
      fetch = std::move(queue_.front());
      queue_.pop_front();
    }
  }
  if (fetch) {
    bring_back(*fetch);
    return true;
  }
  if (!store_.wants_memory()) return false;
  if (pool_.free().count < kMaxValueBytes) pool_.make_block();
  std::optional<Demotion> demotion = store_.next_demotion(*this);
  if (!demotion) return false;
  demote(std::move(*demotion));
  return true;
}

void DeviceTier::bring_back(const Fetch& fetch) {
  auto copied = copy_from_device(*blocks_, *fetch.stored->device, fetch.stored->bytes,
                                 [&](std::size_t offset, std::span<const char> piece) {
                                   return !must_stop() && fetch.arriving->add(offset, piece);
                                 });
  if (!copied) is_broken_ = true;
  store_.end(*this, fetch, copied && *copied ? End::done : End::stopped);
}

void DeviceTier::demote(Demotion demotion) {
  // Damage on the device is found here.
  Checksum checksum;
  auto copied = copy_to_device(*blocks_, demotion.space, demotion.reading->bytes(),
                               [&](std::size_t offset, std::span<char> target) {
                                 if (must_stop() || !demotion.reading->copy(offset, target)) {
                                   return false;
                                 }
                                 checksum.add(target);
                                 return true;
                               });
  if (!copied) is_broken_ = true;
  End how = !copied || !*copied                     ? End::stopped
            : checksum.value() == demotion.checksum ? End::done
                                                    : End::damaged;
  store_.end(*this, std::move(demotion), how);
}

}  // namespace specgen
