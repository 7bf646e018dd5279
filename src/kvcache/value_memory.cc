#include "kvcache/value_memory.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace specgen {

ValueMemory& ValueMemory::operator=(ValueMemory&& other) noexcept {
  if (this == &other) return *this;
  if (pool_) pool_->put(*this);
  pool_ = std::exchange(other.pool_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  pages_ = std::exchange(other.pages_, {});
  tail_ = std::exchange(other.tail_, std::nullopt);
  inline_ = std::move(other.inline_);
  return *this;
}

ValueMemory::~ValueMemory() {
  if (pool_) pool_->put(*this);
}

std::span<char> ValueMemory::from(std::size_t offset) const {
  if (offset >= bytes_) return {};
  const std::size_t left = bytes_ - offset;
  if (inline_) return {inline_.get() + offset, left};
  const std::size_t page = offset / PageArena::kPageBytes;
  const std::size_t within = offset % PageArena::kPageBytes;
  if (page < pages_.size()) {
    return {pool_->arena_.at(pages_[page]) + within,
            std::min(left, PageArena::kPageBytes - within)};
  }
  return {pool_->arena_.at(tail_->page) + tail_->number * tail_->bytes + within, left};
}

std::optional<ValueMemory> ValuePool::take(std::size_t bytes, std::uint64_t owner) {
  ValueMemory memory;
  memory.bytes_ = bytes;
  if (bytes <= kMaxInlineBytes) {
    memory.inline_ = std::make_unique<char[]>(std::max<std::size_t>(bytes, 1));
    memory.pool_ = this;
    inline_bytes_ += bytes;
    return memory;
  }
  std::size_t pages = bytes / PageArena::kPageBytes;
  std::size_t left = bytes % PageArena::kPageBytes;
  if (left > (kMinSlot << (kClasses - 1))) {
    ++pages;
    left = 0;
  }
  if (!arena_.take(pages, memory.pages_)) return std::nullopt;
  if (left > 0) {
    memory.tail_ = take_slot(left, owner);
    if (!memory.tail_) {
      arena_.put(memory.pages_);
      return std::nullopt;
    }
  }
  memory.pool_ = this;
  used_ += pages * PageArena::kPageBytes + (memory.tail_ ? memory.tail_->bytes : 0);
  return memory;
}

std::optional<ValueMemory::Slot> ValuePool::take_slot(std::size_t bytes, std::uint64_t owner) {
  const std::size_t steps = (bytes + kMinSlot - 1) / kMinSlot;
  const std::size_t size_class = static_cast<std::size_t>(std::bit_width(steps - 1));
  std::lock_guard lock(mutex_);
  std::vector<PageArena::Page>& with_free_slot = with_free_slots_[size_class];
  if (with_free_slot.empty()) {
    if (!arena_.take(1, with_free_slot)) return std::nullopt;
    shared_[with_free_slot.back()].size_class = size_class;
  }
  const PageArena::Page page = with_free_slot.back();
  SharedPage& shared = shared_.at(page);
  const auto number = static_cast<std::uint32_t>(std::countr_one(shared.taken));
  shared.taken |= 1u << number;
  shared.owners[number] = owner;
  if (static_cast<std::size_t>(std::popcount(shared.taken)) == slots_of(size_class)) {
    with_free_slot.pop_back();
  }
  return ValueMemory::Slot{.page = page, .number = number, .bytes = kMinSlot << size_class};
}

void ValuePool::put(ValueMemory& memory) {
  if (memory.inline_) {
    inline_bytes_ -= memory.bytes_;
    return;
  }
  if (memory.tail_) put_slot(*memory.tail_);
  arena_.put(memory.pages_);
  // Last: unused slots become available.
  used_ -= memory.pages_.size() * PageArena::kPageBytes + (memory.tail_ ? memory.tail_->bytes : 0);
}

void ValuePool::put_slot(const ValueMemory::Slot& slot) {
  std::lock_guard lock(mutex_);
  SharedPage& shared = shared_.at(slot.page);
  std::vector<PageArena::Page>& with_free_slot = with_free_slots_[shared.size_class];
  const bool was_full =
      static_cast<std::size_t>(std::popcount(shared.taken)) == slots_of(shared.size_class);
  shared.taken &= ~(1u << slot.number);
  if (shared.taken == 0) {
    if (!was_full) std::erase(with_free_slot, slot.page);
    shared_.erase(slot.page);
    arena_.put(std::span(&slot.page, 1));
  } else if (was_full) {
    with_free_slot.push_back(slot.page);
  }
}

std::vector<std::uint64_t> ValuePool::neighbours_of(const ValueMemory& memory) const {
  std::vector<std::uint64_t> owners;
  if (!memory.tail_) return owners;
  std::lock_guard lock(mutex_);
  const SharedPage& shared = shared_.at(memory.tail_->page);
  for (std::uint32_t number = 0; number < kMaxSlots; ++number) {
    if (number != memory.tail_->number && (shared.taken >> number & 1u) != 0) {
      owners.push_back(shared.owners[number]);
    }
  }
  return owners;
}

}  // namespace specgen
