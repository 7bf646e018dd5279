#include "simulate/virtual_endpoint.h"

#include <algorithm>

namespace specgen {

Duration VirtualEndpoint::writing_time(std::int64_t tokens) const {
  auto others = static_cast<double>(std::max<std::int64_t>(0, streams_ - 1));
  double rate = settings_.tokens_per_second / (1 + settings_.slowdown * others);
  if (loop_.now() < slow_until_) rate /= slow_factor_;
  return from_seconds(static_cast<double>(tokens) / rate);
}

Duration VirtualEndpoint::reading_time(std::int64_t uncached_tokens) const {
  return settings_.first_token +
         from_seconds(static_cast<double>(uncached_tokens) / settings_.prefill_tokens_per_second);
}

std::int64_t VirtualEndpoint::cached(const std::string& affinity, std::int64_t tokens) {
  if (!settings_.prefix_cache || affinity.empty()) return 0;
  auto found = held_.find(affinity);
  if (found == held_.end()) return 0;
  if (loop_.now() - found->second.used > settings_.cache_lifetime) {
    held_.erase(found);
    return 0;
  }
  found->second.used = loop_.now();
  return std::min(tokens, found->second.tokens);
}

void VirtualEndpoint::hold(const std::string& affinity, std::int64_t tokens) {
  if (!settings_.prefix_cache || affinity.empty()) return;
  auto [found, is_new] = held_.try_emplace(affinity);
  found->second.tokens = std::max(found->second.tokens, tokens);
  found->second.used = loop_.now();
  if (!is_new) return;
  order_.push_back(affinity);
  while (order_.size() > static_cast<std::size_t>(settings_.cached_prefixes)) {
    held_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace specgen
