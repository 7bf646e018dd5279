#pragma once
// The interface between the pool and an evaluation host: frames of docs/reference/node.md in both directions.
// NodeProcess runs a
// specgen-node process; the simulator's VirtualHost runs in the loop and can lose, repeat, delay or corrupt frames.

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "runtime/task.h"

namespace specgen {

class HostLink {
 public:
  virtual ~HostLink() = default;  // ends the other side and everything it started

  // Never waits. After an error the link is unusable.
  virtual Result<void> send(Json frame) = 0;
  // Cancel-safe. Nothing: the other side has closed. An error: an invalid frame, or the link is broken.
  virtual Task<Result<std::optional<Json>>> receive() = 0;
};

// connect() may be called again after a link was lost.
class Host {
 public:
  virtual ~Host() = default;
  virtual std::string name() const = 0;
  virtual Task<Result<std::unique_ptr<HostLink>>> connect() = 0;
};

}  // namespace specgen
