#pragma once
// Which bytes of a device belong to which value: blocks that are real, cut into pages of 512 KiB. Only bookkeeping, and
// O(pages): nothing here talks to the device but make_block() and drop_closed(), which are for those who have it to
// themselves. For any thread otherwise.

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

// The place of one value, given back when it is destroyed.
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
  // Where so many bytes from `offset` lie, in order.
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

  DevicePool(DeviceBlocks& device, Bytes most);

  std::optional<DeviceSpace> take(std::size_t bytes, std::uint64_t owner);

  // One block more, if the budget allows; false if it does not, or the device has no more.
  bool make_block();

  // Lowers the budget: by how many blocks. Then over_budget() blocks are to be closed, emptied and dropped.
  std::size_t shrink(std::size_t blocks);
  void grow(std::size_t blocks);
  std::size_t over_budget() const;
  struct Block {
    std::uint32_t number;
    std::vector<std::uint64_t> owners;
  };
  std::vector<Block> blocks() const;  // that are real and not closed
  void close(std::uint32_t block);    // nothing more comes into it
  void drop_closed();                 // which nobody may use any more

  Bytes budget() const;
  Bytes used() const;
  Bytes free() const;  // of real blocks

 private:
  friend class DeviceSpace;
  void put(DeviceSpace& space);

  enum class Condition : std::uint8_t { absent, real, closed };
  struct BlockState {
    Condition condition = Condition::absent;
    std::vector<std::uint32_t> free;              // pages, the lowest last
    std::map<std::uint64_t, std::size_t> owners;  // and how many pages they have
  };

  DeviceBlocks& device_;
  mutable std::mutex mutex_;
  std::vector<BlockState> blocks_;
  std::size_t budget_;
  std::size_t real_ = 0;
  std::size_t free_pages_ = 0;  // of blocks that are not closed
  std::size_t used_pages_ = 0;
};

}  // namespace specgen
