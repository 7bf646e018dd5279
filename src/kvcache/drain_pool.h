#pragma once
// Memory for readers whose pages are reclaimed: always present and never reclaimed itself, in pieces of 64 KiB.
// Thread-safe.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/units.h"

namespace specgen {

class DrainPool {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  static Result<std::unique_ptr<DrainPool>> open(Bytes bytes);
  ~DrainPool();
  DrainPool(const DrainPool&) = delete;
  DrainPool& operator=(const DrainPool&) = delete;

  // Pieces for so many bytes, or nothing.
  std::optional<std::vector<char*>> take(std::size_t bytes);
  void put(std::vector<char*> pieces);

 private:
  DrainPool(char* begin, std::size_t bytes);
  char* const begin_;
  const std::size_t bytes_;
  std::mutex mutex_;
  std::vector<char*> free_;
};

}  // namespace specgen
