#pragma once
// How fast bytes reach a client, measured on the large values that it fetches anyway. A client is a host: its
// connections share a link, and what counts is what they carry together while any of them waits for a value.
//
// A link that is known to be slower than computing is not asked for large values any more, but for a short run out of
// every long one, so that it is noticed when it has become faster. Any thread may call.

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

  // Around the sending of one or more values on one connection. `bytes`: those that have reached the client.
  void begin(Time now);
  void end(Time now, std::uint64_t bytes);

  double bytes_per_s() const;  // 0: not known yet

  // Whether a value should not be fetched over this link. Of each 4096 times that it is asked about a slow one, the
  // last 64 are answered no all the same: in a row, for a prompt's chunks are of use together.
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

// The meters of all clients, by their address. Those that nobody holds are forgotten when there are too many.
class LinkTable {
 public:
  std::shared_ptr<LinkMeter> of(const std::string& client);
  std::map<std::string, double> rates() const;  // bytes a second of those that are known

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LinkMeter>> meters_;
};

}  // namespace specgen
