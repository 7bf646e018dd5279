#include "kvcache/page_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "base/assert.h"
#include "base/file.h"

namespace specgen {
namespace {

constexpr std::size_t kSmallPage = 4096;
constexpr std::size_t kPagesAtATime = 4;

std::size_t whole_pages(Bytes bytes) {
  return bytes.count / PageArena::kPageBytes;
}

}  // namespace

void populate_memory(char* at, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::size_t offset = 0; offset < bytes; offset += kSmallPage) {
    static_cast<volatile char*>(at)[offset] = 0;
  }
}

Result<std::unique_ptr<PageArena>> PageArena::open(const Settings& settings) {
  const std::size_t bytes = whole_pages(settings.max) * kPageBytes;
  // One extra page, so that the first can be aligned to a huge page.
  const std::size_t reserved_bytes = bytes + kPageBytes;
  void* reserved = mmap(nullptr, reserved_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return fail_errno("mmap of " + format_bytes({reserved_bytes}) + " for the KV cache", errno);
  }
  // Works without huge pages, but slower.
  madvise(reserved, reserved_bytes, MADV_HUGEPAGE);
  madvise(reserved, reserved_bytes, MADV_DONTDUMP);
  // A forked child would make every page copy-on-write.
  madvise(reserved, reserved_bytes, MADV_DONTFORK);
  std::unique_ptr<PageArena> arena(
      new PageArena(static_cast<char*>(reserved), reserved_bytes, settings));
  for (std::size_t i = whole_pages(settings.ready_at_open); i > 0; --i) {
    std::optional<Page> page = arena->begin_populating();
    if (!page) break;
    populate_memory(arena->at(*page), kPageBytes);
    arena->end_populating(*page);
  }
  arena->thread_.emplace(
      [arena = arena.get()](Loop& loop, RealDriver&) { return arena->populate(loop); });
  return arena;
}

PageArena::PageArena(char* reserved, std::size_t reserved_bytes, const Settings& settings)
    : reserved_(reserved),
      reserved_bytes_(reserved_bytes),
      begin_(reserved +
             (kPageBytes - reinterpret_cast<std::uintptr_t>(reserved) % kPageBytes) % kPageBytes),
      max_pages_(whole_pages(settings.max)),
      ready_per_s_(settings.ready_per_s),
      budget_(max_pages_) {
  ready_.reserve(max_pages_);
  for (std::size_t page = max_pages_; page > 0; --page)
    absent_.push_back(static_cast<Page>(page - 1));
}

PageArena::~PageArena() {
  thread_.reset();
  munmap(reserved_, reserved_bytes_);
}

Task<void> PageArena::populate(Loop& loop) {
  Event wanted(loop);
  wanted_ = &wanted;
  const Duration pause = from_seconds(static_cast<double>(kPagesAtATime * kPageBytes) /
                                      static_cast<double>(ready_per_s_.count));
  while (true) {
    std::size_t populated = 0;
    for (; populated < kPagesAtATime; ++populated) {
      std::optional<Page> page = begin_populating();
      if (!page) break;
      populate_memory(at(*page), kPageBytes);
      end_populating(*page);
    }
    if (populated > 0) {
      co_await loop.sleep(pause);
    } else {
      co_await wanted.wait();
      wanted.reset();
    }
  }
}

std::optional<PageArena::Page> PageArena::begin_populating() {
  std::lock_guard lock(mutex_);
  if (present() >= budget_ || absent_.empty()) return std::nullopt;
  Page page = absent_.back();
  absent_.pop_back();
  ++in_between_;
  return page;
}

void PageArena::end_populating(Page page) {
  {
    std::lock_guard lock(mutex_);
    --in_between_;
    ready_.push_back(page);
  }
  settled_.notify_all();
}

std::size_t PageArena::could_be_taken() const {
  return std::min(ready_.size(), budget_ > out_ ? budget_ - out_ : 0);
}

bool PageArena::take(std::size_t count, std::vector<Page>& pages) {
  std::lock_guard lock(mutex_);
  if (count > could_be_taken()) return false;
  pages.insert(pages.end(), ready_.end() - static_cast<std::ptrdiff_t>(count), ready_.end());
  ready_.resize(ready_.size() - count);
  out_ += count;
  return true;
}

void PageArena::put(std::span<const Page> pages) {
  std::lock_guard lock(mutex_);
  SG_ASSERT(pages.size() <= out_, "more pages returned than are out");
  ready_.insert(ready_.end(), pages.begin(), pages.end());
  out_ -= pages.size();
}

std::size_t PageArena::shrink(std::size_t pages) {
  std::lock_guard lock(mutex_);
  pages = std::min(pages, budget_);
  budget_ -= pages;
  return pages;
}

std::size_t PageArena::over_budget() const {
  std::lock_guard lock(mutex_);
  return out_ > budget_ ? out_ - budget_ : 0;
}

void PageArena::give_back() {
  std::vector<Page> leaving;
  {
    std::unique_lock lock(mutex_);
    SG_ASSERT(out_ <= budget_, "give_back() while too many pages are out");
    // A page that is being faulted in may exceed the budget.
    settled_.wait(lock, [&] { return out_ + in_between_ <= budget_; });
    std::size_t count = present() > budget_ ? present() - budget_ : 0;
    SG_ASSERT(count <= ready_.size(), "a page over the budget is not ready");
    // One system call per run of adjacent pages.
    std::ranges::sort(ready_);
    leaving.assign(ready_.end() - static_cast<std::ptrdiff_t>(count), ready_.end());
    ready_.resize(ready_.size() - count);
    in_between_ += count;
  }
  for (std::size_t first = 0; first < leaving.size();) {
    std::size_t end = first + 1;
    while (end < leaving.size() && leaving[end] == leaving[end - 1] + 1) ++end;
    int failed = madvise(at(leaving[first]), (end - first) * kPageBytes, MADV_DONTNEED);
    SG_ASSERT(failed == 0, "madvise failed");
    first = end;
  }
  {
    std::lock_guard lock(mutex_);
    in_between_ -= leaving.size();
    absent_.insert(absent_.end(), leaving.rbegin(), leaving.rend());
  }
  settled_.notify_all();
}

void PageArena::grow(std::size_t pages) {
  {
    std::lock_guard lock(mutex_);
    budget_ = std::min(budget_ + pages, max_pages_);
  }
  thread_->post([this] {
    if (wanted_) wanted_->set();
  });
}

std::size_t PageArena::budget() const {
  std::lock_guard lock(mutex_);
  return budget_;
}
std::size_t PageArena::out() const {
  std::lock_guard lock(mutex_);
  return out_;
}
std::size_t PageArena::ready() const {
  std::lock_guard lock(mutex_);
  return could_be_taken();
}

}  // namespace specgen
