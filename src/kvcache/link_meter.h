#pragma once
// Measures how fast bytes reach a client, on the large values that it fetches anyway. A client is a host: its
// connections share a link, and the rate is what they carry together while any of them waits for a value.
//
// Over a link that is slower than computing, large values are not served any more, except for a short run out of
// every long one, which notices when the link becomes faster. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/units.h"
#include "kvcache/break_even.h"

namespace specgen {

class LinkMeter {
 public:
  static constexpr std::size_t kWorthMeasuring = 256 << 10;  // bytes of a value

  // Around sending one or more values on a connection. `bytes`: those that have reached the client.
  void begin(Time now);
  void end(Time now, std::uint64_t bytes);

  double bytes_per_s() const;  // 0: unknown yet

  // Whether a value should not be fetched over this link. Of every 4096 calls for a slow link the last 64 return false
  // anyway: in a row, as the chunks of a prompt are useful together.
  bool declines(const ComputingRate& rate);

 private:
  mutable std::mutex mutex_;
  std::size_t under_way_ = 0;
  Time busy_since_{};
  Duration busy_{};            // since the last sample
  std::uint64_t carried_ = 0;  // since the last sample
  double bytes_per_s_ = 0;     // smoothed
  std::uint64_t asked_ = 0;
};

// The meters of all clients by address. Unused ones are dropped when there are too many.
class LinkTable {
 public:
  std::shared_ptr<LinkMeter> of(const std::string& client);
  std::map<std::string, double> rates() const;  // bytes per second, of the known ones

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LinkMeter>> meters_;
};

}  // namespace specgen
