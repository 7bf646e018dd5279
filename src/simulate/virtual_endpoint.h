#pragma once
// The server side of a virtual model: its speed under load, the prefixes in its cache, and its faults. It outlives
// the controllers that use it.

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/units.h"
#include "runtime/loop.h"

namespace specgen {

struct EndpointSettings {
  double tokens_per_second = 35;  // of a single stream
  double slowdown = 0.01;         // per further stream, for all streams
  std::int64_t concurrency = 64;  // streams at the same time; the client limits them
  Duration first_token = std::chrono::milliseconds(300);
  double prefill_tokens_per_second = 8000;
  bool prefix_cache = true;
  Duration cache_lifetime = std::chrono::minutes(10);  // since the last use of a prefix
  std::int64_t cached_prefixes = 10'000;               // capacity of the cache
};

class VirtualEndpoint {
 public:
  VirtualEndpoint(Loop& loop, const EndpointSettings& settings)
      : loop_(loop), settings_(settings) {}

  const EndpointSettings& settings() const { return settings_; }

  // Counts as one stream while it exists.
  class Stream {
   public:
    explicit Stream(VirtualEndpoint& endpoint) : endpoint_(endpoint) { ++endpoint_.streams_; }
    ~Stream() { --endpoint_.streams_; }
    Stream(const Stream&) = delete;

   private:
    VirtualEndpoint& endpoint_;
  };
  std::int64_t streams() const { return streams_; }

  Duration writing_time(std::int64_t tokens) const;  // under the current load
  Duration reading_time(std::int64_t uncached_tokens) const;

  // How many of the first tokens of a request are cached for this key.
  std::int64_t cached(const std::string& affinity, std::int64_t tokens);
  void hold(const std::string& affinity, std::int64_t tokens);

  // Faults.
  void drop_prefixes() { held_.clear(); }
  void overload_until(Time time) { overloaded_until_ = std::max(overloaded_until_, time); }
  void away_until(Time time) { away_until_ = std::max(away_until_, time); }
  void slow_until(Time time, double factor) {
    slow_until_ = std::max(slow_until_, time);
    slow_factor_ = factor;
  }
  bool is_overloaded() const { return loop_.now() < overloaded_until_; }
  bool is_away() const { return loop_.now() < away_until_; }

 private:
  struct Held {
    std::int64_t tokens = 0;
    Time used{};
  };

  Loop& loop_;
  EndpointSettings settings_;
  std::int64_t streams_ = 0;
  std::unordered_map<std::string, Held> held_;  // never iterated
  std::deque<std::string> order_;               // oldest first; may contain dropped ones
  Time overloaded_until_{};
  Time away_until_{};
  Time slow_until_{};
  double slow_factor_ = 1;
};

}  // namespace specgen
