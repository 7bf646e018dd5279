#include "kvcache/link_meter.h"

#include "base/assert.h"

namespace specgen {
namespace {

constexpr std::uint64_t kSampleBytes = std::uint64_t{8} << 20;
constexpr double kWeightOfNewest = 0.25;
constexpr std::uint64_t kRound = 4096;
constexpr std::uint64_t kLetThrough = 64;
constexpr std::size_t kMaxMeters = 1024;

}  // namespace

void LinkMeter::begin(Time now) {
  std::lock_guard lock(mutex_);
  if (under_way_++ == 0) busy_since_ = now;
}

void LinkMeter::end(Time now, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  SG_ASSERT(under_way_ > 0, "end() without begin()");
  carried_ += bytes;
  busy_ += now - busy_since_;
  busy_since_ = now;
  --under_way_;
  if (carried_ < kSampleBytes || busy_ <= Duration::zero()) return;
  double sample = static_cast<double>(carried_) / seconds(busy_);
  bytes_per_s_ =
      bytes_per_s_ == 0 ? sample : bytes_per_s_ + kWeightOfNewest * (sample - bytes_per_s_);
  carried_ = 0;
  busy_ = {};
}

double LinkMeter::bytes_per_s() const {
  std::lock_guard lock(mutex_);
  return bytes_per_s_;
}

bool LinkMeter::declines(const ComputingRate& rate) {
  std::lock_guard lock(mutex_);
  if (!fetching_is_slower(bytes_per_s_, rate)) {
    asked_ = 0;
    return false;
  }
  // The exceptions are at the end of a round: the cause of the slowness needs time to pass.
  return asked_++ % kRound < kRound - kLetThrough;
}

std::shared_ptr<LinkMeter> LinkTable::of(const std::string& client) {
  std::lock_guard lock(mutex_);
  if (meters_.size() >= kMaxMeters && !meters_.contains(client)) {
    std::erase_if(meters_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  auto& meter = meters_[client];
  if (!meter) meter = std::make_shared<LinkMeter>();
  return meter;
}

std::map<std::string, double> LinkTable::rates() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, double> rates;
  for (const auto& [client, meter] : meters_) {
    if (double rate = meter->bytes_per_s(); rate > 0) rates[client] = rate;
  }
  return rates;
}

}  // namespace specgen
