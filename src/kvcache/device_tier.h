#pragma once
// Memory of one device behind a KvStore: values that are cold on the host go there instead of going for good, and come
// back when they are asked for. One thread copies, one value after another, through a ring of pinned buffers.
//
// While the device is quiet (something is being timed on it) nothing is copied, mapped or unmapped. Whoever wants the
// device for himself, to make it quiet or to have memory back, interrupts the copy that is under way and waits for some
// hundred microseconds. He must not hold the store's mutex.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "kvcache/device_blocks.h"
#include "kvcache/device_pool.h"
#include "kvcache/eviction_order.h"
#include "kvcache/kv_transfer.h"
#include "runtime/loop_thread.h"

namespace specgen {

class DeviceTier {
 public:
  struct Demotion {  // from the host to the device
    std::shared_ptr<KvReading> reading;
    std::uint64_t checksum = 0;
    DeviceSpace space;
  };
  struct Fetch {  // back again
    std::shared_ptr<const KvValue> stored;
    std::shared_ptr<KvArriving> arriving;
  };
  enum class End : std::uint8_t { done, stopped, damaged };

  // What it asks of the store, mostly on its own thread.
  class Store {
   public:
    virtual bool wants_room() = 0;  // on the host
    virtual std::optional<Demotion> next_demotion(DeviceTier& tier) = 0;
    virtual void end(DeviceTier& tier, Demotion demotion, End how) = 0;
    virtual void end(DeviceTier& tier, const Fetch& fetch, End how) = 0;

   protected:
    ~Store() = default;
  };

  DeviceTier(Store& store, int device, EvictionOrder::Place place,
             std::unique_ptr<DeviceBlocks> blocks, Bytes most);
  ~DeviceTier();
  void stop();  // its thread; what is on the device stays until the end

  int device() const { return device_; }
  EvictionOrder::Place place() const { return place_; }
  DevicePool& pool() { return pool_; }

  void wake();              // there may be something to do
  void fetch(Fetch fetch);  // calls Store::end() when it is over

  // Nothing is being copied when it returns, and fetches that had not ended are stopped.
  void quiet(bool is_quiet);
  bool is_usable() const { return !is_quiet_ && !is_broken_; }

  // Nobody copies while it lives.
  class Pause {
   public:
    explicit Pause(DeviceTier& tier) : tier_(tier) {
      ++tier_.interrupts_;
      lock_ = std::unique_lock(tier_.at_work_);
    }
    ~Pause() {
      --tier_.interrupts_;
      lock_.unlock();
      tier_.wake();
    }

   private:
    DeviceTier& tier_;
    std::unique_lock<std::mutex> lock_;
  };
  void stop_fetches();  // in a pause: those that wait

 private:
  Task<void> work(Loop& loop);
  bool do_one();
  void bring_back(const Fetch& fetch);
  void demote(Demotion demotion);
  bool must_stop() const { return interrupts_ > 0 || is_quiet_ || is_broken_; }

  Store& store_;
  const int device_;
  const EvictionOrder::Place place_;
  const std::unique_ptr<DeviceBlocks> blocks_;
  DevicePool pool_;
  std::atomic<int> interrupts_ = 0;
  std::atomic<bool> is_quiet_ = false;
  std::atomic<bool> is_broken_ = false;  // the device failed: it is left alone
  std::atomic<bool> is_woken_ = false;
  std::mutex at_work_;  // with the device
  std::mutex queue_mutex_;
  std::deque<Fetch> queue_;
  Event* to_do_ = nullptr;  // of the thread's own
  std::optional<LoopThread> thread_;
};

}  // namespace specgen
