#include "kvcache/kv_transfer.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "kvcache/stream_copy.h"

namespace specgen {
namespace {

// For discarded bytes. One per thread, as they overwrite each other.
std::span<char> scratch() {
  constexpr std::size_t kScratchBytes = std::size_t{256} << 10;
  thread_local const auto target = std::make_unique<char[]>(kScratchBytes);
  return {target.get(), kScratchBytes};
}

}  // namespace

KvReading::Check KvReading::check(std::size_t max, char* copy_to) {
  std::lock_guard lock(mutex_);
  if (is_checked_) return Check::matches;
  if (!value_) return Check::reclaimed;
  const std::size_t arrived = value_->arrived.load(std::memory_order_acquire);
  if (arrived == KvValue::kLost) return Check::reclaimed;
  if (!checksum_) checksum_ = std::make_unique<Checksum>();
  while (max > 0 && checked_ < arrived) {
    std::span<const char> piece = value_->memory.from(checked_);
    piece = piece.first(std::min({piece.size(), max, arrived - checked_}));
    constexpr std::size_t kNear = 16 << 10;  // copied while still in the L1 cache
    if (copy_to) piece = piece.first(std::min(piece.size(), kNear));
    checksum_->add(piece);
    if (copy_to) copy_and_fetch_more(copy_to + checked_, piece.data(), piece.size());
    checked_ += piece.size();
    max -= piece.size();
  }
  if (checked_ < bytes_) return Check::not_done;
  is_checked_ = checksum_->value() == value_->checksum;
  checksum_.reset();
  if (copy_to && is_checked_) counters_.bytes_out.fetch_add(bytes_, std::memory_order_relaxed);
  return is_checked_ ? Check::matches : Check::damaged;
}

std::optional<std::size_t> KvReading::for_piece(
    std::size_t offset, std::size_t max,
    const std::function<std::size_t(std::span<const char>)>& use) {
  std::lock_guard lock(mutex_);
  SG_ASSERT(is_checked_, "bytes requested before they were checked");
  SG_ASSERT(offset <= bytes_, "offset behind the end of the value");
  std::span<const char> piece;
  if (value_) {
    piece = value_->memory.from(offset);
  } else if (offset < bytes_) {
    if (drained_.empty() || offset < drained_at_) return std::nullopt;
    const std::size_t within = (offset - drained_at_) % DrainPool::kPieceBytes;
    piece = {drained_[(offset - drained_at_) / DrainPool::kPieceBytes] + within,
             std::min(bytes_ - offset, DrainPool::kPieceBytes - within)};
  }
  const std::size_t taken = use(piece.first(std::min(piece.size(), max)));
  position_ = offset + taken;
  counters_.bytes_out.fetch_add(taken, std::memory_order_relaxed);
  return taken;
}

bool KvReading::copy(std::size_t offset, std::span<char> to) const {
  std::lock_guard lock(mutex_);
  if (!value_) return false;
  while (!to.empty()) {
    std::span<const char> piece = value_->memory.from(offset);
    piece = piece.first(std::min(piece.size(), to.size()));
    std::memcpy(to.data(), piece.data(), piece.size());
    to = to.subspan(piece.size());
    offset += piece.size();
  }
  return true;
}

bool KvReading::move_to_drain() {
  std::lock_guard lock(mutex_);
  if (!value_) return true;
  auto value = std::exchange(value_, nullptr);
  if (!is_checked_ || position_ >= bytes_) return true;
  auto target = drain_.take(bytes_ - position_);
  if (!target) return false;
  drained_ = std::move(*target);
  drained_at_ = position_;
  for (std::size_t offset = position_; offset < bytes_;) {
    const std::size_t within = (offset - drained_at_) % DrainPool::kPieceBytes;
    std::span<const char> piece = value->memory.from(offset);
    const std::size_t count = std::min(piece.size(), DrainPool::kPieceBytes - within);
    std::memcpy(drained_[(offset - drained_at_) / DrainPool::kPieceBytes] + within, piece.data(),
                count);
    offset += count;
  }
  return true;
}

void KvReading::end() {
  std::lock_guard lock(mutex_);
  value_.reset();
  if (!drained_.empty()) drain_.put(std::exchange(drained_, {}));
}

std::shared_ptr<const KvValue> KvReading::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

std::size_t KvWriting::for_piece(std::size_t max,
                                 const std::function<std::size_t(std::span<char>)>& fill) {
  max = std::min(max, left());
  std::lock_guard lock(mutex_);
  std::span<char> target = memory_ ? memory_->from(received_) : scratch();
  target = target.first(std::min(target.size(), max));
  const std::size_t filled = fill(target);
  SG_ASSERT(filled <= target.size(), "fill() wrote more than the buffer holds");
  if (memory_) checksum_.add(target.first(filled));
  received_ += filled;
  counters_.bytes_in.fetch_add(filled, std::memory_order_relaxed);
  return filled;
}

bool KvWriting::discard() {
  std::lock_guard lock(mutex_);
  const bool had = memory_.has_value();
  memory_.reset();
  return had;
}

std::shared_ptr<KvValue> KvWriting::finish(std::uint64_t entry) {
  std::lock_guard lock(mutex_);
  if (!memory_) return nullptr;
  auto value = std::make_shared<KvValue>();
  value->bytes = bytes_;
  value->checksum = checksum_.value();
  value->entry = entry;
  value->memory = std::move(*memory_);
  value->arrived = bytes_;
  memory_.reset();
  return value;
}

bool KvArriving::add(std::size_t offset, std::span<const char> bytes) {
  std::lock_guard lock(mutex_);
  if (!value_) return false;
  while (!bytes.empty()) {
    std::span<char> target = value_->memory.from(offset);
    target = target.first(std::min(target.size(), bytes.size()));
    std::memcpy(target.data(), bytes.data(), target.size());
    bytes = bytes.subspan(target.size());
    offset += target.size();
  }
  value_->arrived.store(offset, std::memory_order_release);
  return true;
}

bool KvArriving::discard() {
  std::lock_guard lock(mutex_);
  if (!value_) return false;
  value_->arrived = KvValue::kLost;
  value_.reset();
  return true;
}

std::shared_ptr<const KvValue> KvArriving::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

}  // namespace specgen
