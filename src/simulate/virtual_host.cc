#include "simulate/virtual_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/assert.h"
#include "simulate/virtual_link.h"

namespace specgen {

Duration ServiceTime::draw(Random& random) const {
  return from_seconds(random.log_normal(seconds(median), sigma));
}

VirtualHost::VirtualHost(Loop& loop, std::string name, const HostSettings& settings, double ceiling,
                         Faults& faults, Random random, Violation violation)
    : loop_(loop),
      name_(std::move(name)),
      settings_(settings),
      ceiling_(ceiling),
      faults_(faults),
      random_(random),
      violation_(std::move(violation)) {
  for (std::int64_t i = 0; i < settings_.devices; ++i) {
    devices_.push_back({.name = fmt::format("cpu:{}", i)});
  }
}

VirtualHost::~VirtualHost() {
  SG_ASSERT(links_.empty(), "a host outlives its links");
}

VirtualHost::Device* VirtualHost::find(std::string_view device) {
  constexpr std::string_view kKind = "cpu:";
  if (!device.starts_with(kKind)) return nullptr;
  device.remove_prefix(kKind.size());
  std::size_t number = 0;
  auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), number);
  bool is_number = error == std::errc() && end == device.data() + device.size();
  return is_number && number < devices_.size() ? &devices_[number] : nullptr;
}

Task<Result<std::unique_ptr<HostLink>>> VirtualHost::connect() {
  co_await loop_.sleep(settings_.connect);
  if (loop_.now() < away_until_) {
    co_return fail(ErrorCode::device_failed, fmt::format("{} cannot be reached", name_));
  }
  co_return std::make_unique<VirtualLink>(*this);
}

void VirtualHost::crash_until(Time back) {
  away_until_ = std::max(away_until_, back);
  for (VirtualLink* link : links_) link->crash();
}

void VirtualHost::slow_down(std::size_t device, Time until, double factor) {
  devices_[device].slow_until = until;
  devices_[device].slow_factor = factor;
}

Duration VirtualHost::busy() const {
  Duration all{};
  for (const Device& device : devices_) all += device.busy;
  return all;
}

}  // namespace specgen
