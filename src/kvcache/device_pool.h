#pragma once
// Which bytes of a device belong to which value: mapped blocks, divided into pages of 512 KiB. Bookkeeping only,
// O(pages): only make_block() and drop_closed() use the device, and their callers must have exclusive use of it.
// Otherwise thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "kvcache/device_blocks.h"

namespace specgen {

class DevicePool;

// The space of one value, released when it is destroyed.
class DeviceSpace {
 public:
  struct Extent {
    std::uint64_t at;  // on the device
    std::size_t bytes;
  };

  DeviceSpace() = default;
  DeviceSpace(DeviceSpace&& other) noexcept { *this = std::move(other); }
  DeviceSpace& operator=(DeviceSpace&& other) noexcept;
  ~DeviceSpace();

  DevicePool* pool() const { return pool_; }
  // The extents of `bytes` bytes from `offset`, in order.
  std::vector<Extent> extents(std::size_t offset, std::size_t bytes) const;

 private:
  friend class DevicePool;
  DevicePool* pool_ = nullptr;
  std::uint64_t owner_ = 0;
  std::vector<std::uint32_t> pages_;
};

class DevicePool {
 public:
  static constexpr std::size_t kPageBytes = std::size_t{512} << 10;
  static constexpr std::size_t kPagesPerBlock = DeviceBlocks::kBlockBytes / kPageBytes;

  DevicePool(DeviceBlocks& device, Bytes max);

  std::optional<DeviceSpace> take(std::size_t bytes, std::uint64_t owner);

  // Maps another block. False: the budget or the device is exhausted.
  bool make_block();

  // Lowers the budget and returns by how many blocks. Then over_budget() blocks must be closed, emptied and dropped.
  std::size_t shrink(std::size_t blocks);
  void grow(std::size_t blocks);
  std::size_t over_budget() const;
  struct Block {
    std::uint32_t number;
    std::vector<std::uint64_t> owners;
  };
  std::vector<Block> blocks() const;  // mapped and not closed
  void close(std::uint32_t block);    // takes no further values
  void drop_closed();                 // none may be in use

  Bytes budget() const;
  Bytes used() const;
  Bytes free() const;  // of mapped blocks

 private:
  friend class DeviceSpace;
  void put(DeviceSpace& space);

  enum class Condition : std::uint8_t { absent, mapped, closed };
  struct BlockState {
    Condition condition = Condition::absent;
    std::vector<std::uint32_t> free;              // pages, lowest last
    std::map<std::uint64_t, std::size_t> owners;  // with their number of pages
  };

  DeviceBlocks& device_;
  mutable std::mutex mutex_;
  std::vector<BlockState> blocks_;
  std::size_t budget_;
  std::size_t mapped_ = 0;
  std::size_t free_pages_ = 0;  // of blocks that are not closed
  std::size_t used_pages_ = 0;
};

}  // namespace specgen
