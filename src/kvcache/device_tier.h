#pragma once
// Memory of one device behind a KvStore: values that are cold on the host move there instead of being dropped, and
// come back when they are requested. One thread copies one value after another through a ring of pinned buffers.
//
// While the device is quiet (a kernel is being timed on it) nothing is copied, mapped or unmapped. A caller that
// needs exclusive use of the device, to make it quiet or to reclaim memory, interrupts the current copy and waits
// some hundred microseconds. It must not hold the store's mutex.

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
  struct Demotion {  // host to device
    std::shared_ptr<KvReading> reading;
    std::uint64_t checksum = 0;
    DeviceSpace space;
  };
  struct Fetch {  // device to host
    std::shared_ptr<const KvValue> stored;
    std::shared_ptr<KvArriving> arriving;
  };
  enum class End : std::uint8_t { done, stopped, damaged };

  // The store as seen by the tier, mostly on its thread.
  class Store {
   public:
    virtual bool wants_memory() = 0;  // on the host
    virtual std::optional<Demotion> next_demotion(DeviceTier& tier) = 0;
    virtual void end(DeviceTier& tier, Demotion demotion, End how) = 0;
    virtual void end(DeviceTier& tier, const Fetch& fetch, End how) = 0;

   protected:
    ~Store() = default;
  };

  DeviceTier(Store& store, int device, EvictionOrder::Place place,
             std::unique_ptr<DeviceBlocks> blocks, Bytes max);
  ~DeviceTier();
  void stop();  // its thread; values stay on the device until destruction

  int device() const { return device_; }
  EvictionOrder::Place place() const { return place_; }
  DevicePool& pool() { return pool_; }

  void wake();              // there may be work
  void fetch(Fetch fetch);  // calls Store::end() when it has ended

  // When it returns no copy is running, and unfinished fetches are stopped.
  void quiet(bool is_quiet);
  bool is_usable() const { return !is_quiet_ && !is_broken_; }

  // No copy runs while it exists.
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
  void stop_fetches();  // the queued ones; call it in a Pause

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
  std::atomic<bool> is_broken_ = false;  // the device failed and is not used any more
  std::atomic<bool> is_woken_ = false;
  std::mutex at_work_;  // held while using the device
  std::mutex queue_mutex_;
  std::deque<Fetch> queue_;
  Event* to_do_ = nullptr;  // used on the thread only
  std::optional<LoopThread> thread_;
};

}  // namespace specgen
