#pragma once
// Memory of a KV node in pages of 2 MiB: one range of addresses, of which a budget of pages is present. A thread
// faults pages in at a bounded rate, and only such pages are handed out, so that copying a value never waits for a
// page fault. Returned memory is free when give_back() returns: with huge pages that takes about 4 ms per GiB.
//
// Thread-safe. Pages are returned with put(); while more are out than the budget allows, none is handed out.

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
    Bytes max;            // the initial budget, never exceeded
    Bytes ready_at_open;  // faulted in before open() returns
    Bytes ready_per_s;    // faulted in later
  };
  static Result<std::unique_ptr<PageArena>> open(const Settings& settings);
  ~PageArena();
  PageArena(const PageArena&) = delete;
  PageArena& operator=(const PageArena&) = delete;

  char* at(Page page) const { return begin_ + page * kPageBytes; }

  // All or none; appends to `pages`.
  bool take(std::size_t count, std::vector<Page>& pages);
  void put(std::span<const Page> pages);

  // Lowers the budget and returns by how many pages, which is less than requested only if there are no more. Pages that
  // are out and over_budget() must be returned with put(), then give_back() frees them.
  std::size_t shrink(std::size_t pages);
  std::size_t over_budget() const;
  void give_back();
  void grow(std::size_t pages);  // at most to the initial budget

  std::size_t budget() const;
  std::size_t out() const;
  std::size_t ready() const;  // can be taken now

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
  const std::size_t max_pages_;
  const Bytes ready_per_s_;

  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::vector<Page> ready_;
  std::vector<Page> absent_;  // taken from the end
  std::size_t budget_;
  std::size_t out_ = 0;
  std::size_t in_between_ = 0;  // being faulted in or given back

  Event* wanted_ = nullptr;  // used on the thread only
  std::optional<LoopThread> thread_;
};

// Faults in memory that is not present yet.
void populate_memory(char* at, std::size_t bytes);

}  // namespace specgen
