#include "evaluate/cuda/expectation_store.h"

#include <algorithm>

namespace specgen {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 20;
constexpr std::size_t kAlignment = 256;

}  // namespace

const ExpectationStore::Kept* ExpectationStore::find(std::uint64_t key) const {
  auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : &found->second;
}

Result<CuAddress> ExpectationStore::allocate(std::size_t bytes) {
  bytes = round_up(bytes, kAlignment);
  if (chunks_.empty() || used_ + bytes > chunks_.back().bytes()) {
    const std::size_t size = std::max(bytes, kChunk);
    if (bytes_ + size > max_bytes_) {
      kept_.clear();
      chunks_.clear();
      bytes_ = 0;
    }
    chunks_.push_back(TRY(DeviceBuffer::create(driver_, device_, size)));
    bytes_ += chunks_.back().bytes();
    used_ = 0;
  }
  CuAddress address = chunks_.back().address() + used_;
  used_ += bytes;
  return address;
}

Result<void> ExpectationStore::upload(CuAddress to, const void* from, std::size_t bytes) {
  return driver_.check(driver_.memcpy_htod(to, from, bytes, stream_), "cuMemcpyHtoD");
}

Result<ExpectationStore::Kept> ExpectationStore::put(const Expected& expected) {
  const std::size_t bytes = expected.value.size() * sizeof(double);
  const std::size_t all = (expected.at.empty() ? 2 : 3) * bytes;
  CuAddress address = 0;
  if (expected.key != 0) {
    address = TRY(allocate(all));
  } else {
    if (!without_key_ || without_key_->bytes() < all) {
      without_key_.reset();
      without_key_.emplace(TRY(DeviceBuffer::create(driver_, device_, all)));
    }
    address = without_key_->address();
  }
  Kept kept{.values = address,
            .scales = address + bytes,
            .indices = expected.at.empty() ? 0 : address + 2 * bytes,
            .first = expected.first,
            .count = static_cast<std::int64_t>(expected.value.size())};
  TRY(upload(kept.values, expected.value.data(), bytes));
  TRY(upload(kept.scales, expected.scale.data(), bytes));
  if (kept.indices) TRY(upload(kept.indices, expected.at.data(), bytes));
  TRY(driver_.check(driver_.stream_synchronize(stream_), "copying expectations to the device"));
  if (expected.key != 0) kept_[expected.key] = kept;
  return kept;
}

}  // namespace specgen
