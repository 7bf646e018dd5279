#include "kvcache/device_pool.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace specgen {

DeviceSpace& DeviceSpace::operator=(DeviceSpace&& other) noexcept {
  if (this == &other) return *this;
  if (pool_) pool_->put(*this);
  pool_ = std::exchange(other.pool_, nullptr);
  owner_ = other.owner_;
  pages_ = std::exchange(other.pages_, {});
  return *this;
}

DeviceSpace::~DeviceSpace() {
  if (pool_) pool_->put(*this);
}

std::vector<DeviceSpace::Extent> DeviceSpace::extents(std::size_t offset, std::size_t bytes) const {
  std::vector<Extent> all;
  while (bytes > 0) {
    const std::size_t within = offset % DevicePool::kPageBytes;
    const std::size_t count = std::min(bytes, DevicePool::kPageBytes - within);
    const std::uint64_t at =
        std::uint64_t{pages_[offset / DevicePool::kPageBytes]} * DevicePool::kPageBytes + within;
    if (!all.empty() && all.back().at + all.back().bytes == at) {
      all.back().bytes += count;  // adjacent pages are copied together
    } else {
      all.push_back({at, count});
    }
    offset += count;
    bytes -= count;
  }
  return all;
}

DevicePool::DevicePool(DeviceBlocks& device, Bytes max)
    : device_(device), blocks_(max.count / DeviceBlocks::kBlockBytes), budget_(blocks_.size()) {}

std::optional<DeviceSpace> DevicePool::take(std::size_t bytes, std::uint64_t owner) {
  std::size_t wanted = (bytes + kPageBytes - 1) / kPageBytes;
  std::lock_guard lock(mutex_);
  if (wanted > free_pages_) return std::nullopt;
  free_pages_ -= wanted;
  used_pages_ += wanted;
  DeviceSpace space;
  space.pool_ = this;
  space.owner_ = owner;
  for (BlockState& block : blocks_) {
    if (block.condition != Condition::mapped) continue;
    for (; wanted > 0 && !block.free.empty(); --wanted) {
      space.pages_.push_back(block.free.back());
      block.free.pop_back();
      ++block.owners[owner];
    }
    if (wanted == 0) break;
  }
  SG_ASSERT(wanted == 0, "free pages outside of all blocks");
  return space;
}

void DevicePool::put(DeviceSpace& space) {
  std::lock_guard lock(mutex_);
  used_pages_ -= space.pages_.size();
  for (std::uint32_t page : space.pages_) {
    BlockState& block = blocks_[page / kPagesPerBlock];
    block.free.push_back(page);
    auto owner = block.owners.find(space.owner_);
    if (--owner->second == 0) block.owners.erase(owner);
    if (block.condition == Condition::mapped) ++free_pages_;
  }
}

bool DevicePool::make_block() {
  std::uint32_t number = 0;
  {
    std::lock_guard lock(mutex_);
    if (mapped_ >= budget_) return false;
    while (blocks_[number].condition != Condition::absent) ++number;
    ++mapped_;
  }
  const bool is_made = device_.make(number).has_value();
  std::lock_guard lock(mutex_);
  if (!is_made) {
    // Others use the rest of the device: do not try again for every value.
    --mapped_;
    budget_ = std::min(budget_, mapped_);
    return false;
  }
  BlockState& block = blocks_[number];
  block.condition = Condition::mapped;
  for (std::size_t page = kPagesPerBlock; page > 0; --page) {
    block.free.push_back(static_cast<std::uint32_t>(number * kPagesPerBlock + page - 1));
  }
  free_pages_ += kPagesPerBlock;
  return true;
}

std::size_t DevicePool::shrink(std::size_t blocks) {
  std::lock_guard lock(mutex_);
  blocks = std::min(blocks, budget_);
  budget_ -= blocks;
  return blocks;
}

void DevicePool::grow(std::size_t blocks) {
  std::lock_guard lock(mutex_);
  budget_ = std::min(budget_ + blocks, blocks_.size());
}

std::size_t DevicePool::over_budget() const {
  std::lock_guard lock(mutex_);
  return mapped_ > budget_ ? mapped_ - budget_ : 0;
}

std::vector<DevicePool::Block> DevicePool::blocks() const {
  std::lock_guard lock(mutex_);
  std::vector<Block> all;
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    if (blocks_[number].condition != Condition::mapped) continue;
    Block block{.number = number, .owners = {}};
    for (const auto& [owner, pages] : blocks_[number].owners) block.owners.push_back(owner);
    all.push_back(std::move(block));
  }
  return all;
}

void DevicePool::close(std::uint32_t number) {
  std::lock_guard lock(mutex_);
  BlockState& block = blocks_[number];
  if (block.condition != Condition::mapped) return;
  block.condition = Condition::closed;
  free_pages_ -= block.free.size();
}

void DevicePool::drop_closed() {
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    {
      std::lock_guard lock(mutex_);
      if (blocks_[number].condition != Condition::closed) continue;
      SG_ASSERT(blocks_[number].free.size() == kPagesPerBlock, "dropping a block that is in use");
    }
    device_.drop(number);
    std::lock_guard lock(mutex_);
    blocks_[number] = {};
    --mapped_;
  }
}

Bytes DevicePool::budget() const {
  std::lock_guard lock(mutex_);
  return {budget_ * DeviceBlocks::kBlockBytes};
}
Bytes DevicePool::used() const {
  std::lock_guard lock(mutex_);
  return {used_pages_ * kPageBytes};
}
Bytes DevicePool::free() const {
  std::lock_guard lock(mutex_);
  return {free_pages_ * kPageBytes};
}

}  // namespace specgen
