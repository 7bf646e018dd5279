#pragma once
// What finds trigger patterns in streams. Two engines give the same matches: Hyperscan, which carries its state from
// piece to piece, and RE2, which keeps the end of what it has seen and looks at it again. Internal to this folder.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "speculate/trigger_regex.h"

namespace specgen {

struct EngineMatch {
  std::uint64_t end = 0;      // in the stream, in bytes
  std::uint32_t pattern = 0;  // its number
};

struct EngineStream;  // an engine's own

class TriggerEngine {
 public:
  virtual ~TriggerEngine() = default;
  virtual std::string_view name() const = 0;
  virtual std::size_t stream_bytes() const = 0;
  virtual EngineStream* open() = 0;
  virtual void close(EngineStream* stream) = 0;
  // Appends every place where some match of a pattern ends, once for each pattern; in no order.
  virtual void scan(EngineStream* stream, std::string_view text,
                    std::vector<EngineMatch>& matches) = 0;
};

// The number of a pattern is its place in the list.
Result<std::unique_ptr<TriggerEngine>> make_re2_engine(const std::vector<PortableRegex>& patterns);
// tool_missing if this program has no Hyperscan, or this processor cannot run it.
Result<std::unique_ptr<TriggerEngine>> make_hyperscan_engine(
    const std::vector<PortableRegex>& patterns);

}  // namespace specgen
