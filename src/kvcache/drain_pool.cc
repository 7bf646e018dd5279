#include "kvcache/drain_pool.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/file.h"
#include "kvcache/page_arena.h"

namespace specgen {

Result<std::unique_ptr<DrainPool>> DrainPool::open(Bytes bytes) {
  const std::size_t rounded = bytes.count / kPieceBytes * kPieceBytes;
  if (rounded == 0) return std::unique_ptr<DrainPool>(new DrainPool(nullptr, 0));
  void* begin = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    return fail_errno("mmap of " + format_bytes({rounded}) + " for the KV cache", errno);
  }
  madvise(begin, rounded, MADV_HUGEPAGE);
  madvise(begin, rounded, MADV_DONTFORK);  // as in PageArena
  populate_memory(static_cast<char*>(begin), rounded);
  return std::unique_ptr<DrainPool>(new DrainPool(static_cast<char*>(begin), rounded));
}

DrainPool::DrainPool(char* begin, std::size_t bytes) : begin_(begin), bytes_(bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += kPieceBytes) {
    free_.push_back(begin + offset);
  }
}

DrainPool::~DrainPool() {
  if (bytes_ > 0) munmap(begin_, bytes_);
}

std::optional<std::vector<char*>> DrainPool::take(std::size_t bytes) {
  const std::size_t count = (bytes + kPieceBytes - 1) / kPieceBytes;
  std::lock_guard lock(mutex_);
  if (count > free_.size()) return std::nullopt;
  std::vector<char*> pieces(free_.end() - static_cast<std::ptrdiff_t>(count), free_.end());
  free_.resize(free_.size() - count);
  return pieces;
}

void DrainPool::put(std::vector<char*> pieces) {
  std::lock_guard lock(mutex_);
  free_.insert(free_.end(), pieces.begin(), pieces.end());
}

}  // namespace specgen
