#pragma once
// The bytes of one value, and the pool they come from: whole pages, a slot of a shared page for what is left over,
// and for the smallest of values an allocation of their own. A value of 36 MiB wastes nothing, one of 1 MiB takes
// half a page. For any thread; a ValueMemory gives everything back when it is destroyed.

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
  // Those from `offset` on that lie in one piece; empty at the end.
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

  // Nothing while there are not enough pages. `owner` is told by neighbours_of().
  std::optional<ValueMemory> take(std::size_t bytes, std::uint64_t owner);

  // Owners of what shares a page with this value: as long as they are there, that page cannot be given back.
  std::vector<std::uint64_t> neighbours_of(const ValueMemory& memory) const;

  // What values take, of pages and slots. Inline bytes are not of the arena, and counted apart.
  Bytes used() const { return {used_.load(std::memory_order_relaxed)}; }
  Bytes inline_bytes() const { return {inline_bytes_.load(std::memory_order_relaxed)}; }

 private:
  friend class ValueMemory;
  static constexpr std::size_t kSmallestSlot = std::size_t{64} << 10;
  static constexpr std::size_t kClasses = 5;  // up to 1 MiB
  static constexpr std::size_t kMaxSlots = PageArena::kPageBytes / kSmallestSlot;
  static_assert(kMaxSlots == 32, "the bits of SharedPage::taken");

  struct SharedPage {
    std::size_t size_class = 0;
    std::uint32_t taken = 0;  // a bit for each slot
    std::array<std::uint64_t, kMaxSlots> owners{};
  };
  static std::size_t slots_of(std::size_t size_class) {
    return PageArena::kPageBytes / (kSmallestSlot << size_class);
  }
  std::optional<ValueMemory::Slot> take_slot(std::size_t bytes, std::uint64_t owner);
  void put(ValueMemory& memory);
  void put_slot(const ValueMemory::Slot& slot);

  PageArena& arena_;
  mutable std::mutex mutex_;
  std::unordered_map<PageArena::Page, SharedPage> shared_;
  std::array<std::vector<PageArena::Page>, kClasses> with_room_;
  std::atomic<std::uint64_t> used_ = 0;
  std::atomic<std::uint64_t> inline_bytes_ = 0;
};

}  // namespace specgen
