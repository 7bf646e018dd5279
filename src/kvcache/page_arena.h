#pragma once
// Memory of a KV node in pages of 2 MiB: one stretch of addresses, of which a budget of pages is really there. A
// thread of its own faults pages in, at a bounded rate; only such pages are handed out, so nobody who copies a value
// ever waits for a page fault. What is given back is free when give_back() returns: with huge pages that takes some
// 4 ms per GiB.
//
// For any thread. Pages come back with put(); while more are out than the budget allows, none is handed out.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "runtime/loop_thread.h"

namespace specgen {

class PageArena {
 public:
  using Page = std::uint32_t;
  static constexpr std::size_t kPageBytes = std::size_t{2} << 20;

  struct Settings {
    Bytes most;           // the budget it begins with, and its most ever
    Bytes ready_at_open;  // faulted in before open() returns
    Bytes ready_per_s;    // faulted in later
  };
  static Result<std::unique_ptr<PageArena>> open(const Settings& settings);
  ~PageArena();
  PageArena(const PageArena&) = delete;
  PageArena& operator=(const PageArena&) = delete;

  char* at(Page page) const { return begin_ + page * kPageBytes; }

  // All or none; appended to `pages`.
  bool take(std::size_t count, std::vector<Page>& pages);
  void put(std::span<const Page> pages);

  // Lowers the budget: by how many pages, which is less than asked for only if there are no more. Pages that are out
  // and over_budget() must come back, then give_back() does its work.
  std::size_t shrink(std::size_t pages);
  std::size_t over_budget() const;
  void give_back();
  void grow(std::size_t pages);  // up to the most

  std::size_t budget() const;
  std::size_t out() const;
  std::size_t ready() const;  // could be taken now

 private:
  PageArena(char* reserved, std::size_t reserved_bytes, const Settings& settings);
  std::optional<Page> begin_populating();
  void end_populating(Page page);
  Task<void> populate(Loop& loop);
  std::size_t present() const { return out_ + ready_.size() + in_between_; }
  std::size_t could_be_taken() const;

  char* const reserved_;
  const std::size_t reserved_bytes_;
  char* const begin_;
  const std::size_t most_;
  const Bytes ready_per_s_;

  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::vector<Page> ready_;
  std::vector<Page> absent_;  // from the end
  std::size_t budget_;
  std::size_t out_ = 0;
  std::size_t in_between_ = 0;  // being faulted in or given back

  Event* wanted_ = nullptr;  // of the thread's own
  std::optional<LoopThread> thread_;
};

// Faults in memory that is not there yet.
void populate_memory(char* at, std::size_t bytes);

}  // namespace specgen
