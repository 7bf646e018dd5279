#pragma once
// The bytes of one value and the pool they come from: whole pages, a slot of a shared page for the rest, and an
// allocation of its own for the smallest values. A value of 36 MiB wastes nothing, one of 1 MiB takes half a page.
// Thread-safe; a ValueMemory returns everything in its destructor.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kvcache/page_arena.h"

namespace specgen {

inline constexpr std::size_t kMaxInlineBytes = 4096;

class ValuePool;

class ValueMemory {
 public:
  ValueMemory() = default;
  ValueMemory(ValueMemory&& other) noexcept { *this = std::move(other); }
  ValueMemory& operator=(ValueMemory&& other) noexcept;
  ~ValueMemory();

  std::size_t bytes() const { return bytes_; }
  bool is_inline() const { return inline_ != nullptr; }
  bool has_pages() const { return !pages_.empty(); }  // of its own
  // The contiguous bytes from `offset`; empty at the end.
  std::span<char> from(std::size_t offset) const;

 private:
  friend class ValuePool;
  struct Slot {
    PageArena::Page page;
    std::uint32_t number;
    std::size_t bytes;  // of its size class
  };
  ValuePool* pool_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<PageArena::Page> pages_;
  std::optional<Slot> tail_;
  std::unique_ptr<char[]> inline_;
};

class ValuePool {
 public:
  explicit ValuePool(PageArena& arena) : arena_(arena) {}

  // Nothing if there are not enough pages. neighbours_of() reports `owner`.
  std::optional<ValueMemory> take(std::size_t bytes, std::uint64_t owner);

  // Owners of the values that share a page with this one: as long as they exist, that page cannot be given back.
  std::vector<std::uint64_t> neighbours_of(const ValueMemory& memory) const;

  // Memory of pages and slots. Inline bytes are not in the arena and are counted separately.
  Bytes used() const { return {used_.load(std::memory_order_relaxed)}; }
  Bytes inline_bytes() const { return {inline_bytes_.load(std::memory_order_relaxed)}; }

 private:
  friend class ValueMemory;
  static constexpr std::size_t kMinSlot = std::size_t{64} << 10;
  static constexpr std::size_t kClasses = 5;  // up to 1 MiB
  static constexpr std::size_t kMaxSlots = PageArena::kPageBytes / kMinSlot;
  static_assert(kMaxSlots == 32, "the bits of SharedPage::taken");

  struct SharedPage {
    std::size_t size_class = 0;
    std::uint32_t taken = 0;  // one bit per slot
    std::array<std::uint64_t, kMaxSlots> owners{};
  };
  static std::size_t slots_of(std::size_t size_class) {
    return PageArena::kPageBytes / (kMinSlot << size_class);
  }
  std::optional<ValueMemory::Slot> take_slot(std::size_t bytes, std::uint64_t owner);
  void put(ValueMemory& memory);
  void put_slot(const ValueMemory::Slot& slot);

  PageArena& arena_;
  mutable std::mutex mutex_;
  std::unordered_map<PageArena::Page, SharedPage> shared_;
  std::array<std::vector<PageArena::Page>, kClasses> with_free_slots_;
  std::atomic<std::uint64_t> used_ = 0;
  std::atomic<std::uint64_t> inline_bytes_ = 0;
};

}  // namespace specgen
