#pragma once
// The seam between the pool and an evaluation host: frames of docs/reference/node.md, both ways. The real one is a
// specgen-node process (node_process.h); the simulator's lives in the loop and can lose, repeat, delay or garble what
// it is given. Above this line nobody knows the difference.

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "runtime/task.h"

namespace specgen {

class HostLink {
 public:
  virtual ~HostLink() = default;  // ends what is at the other end, and everything it started

  // Never waits: what cannot be sent is an error, and the link is of no more use.
  virtual Result<void> send(Json frame) = 0;
  // Cancel-safe. Nothing: the other side has closed. An error: it talks nonsense or is broken.
  virtual Task<Result<std::optional<Json>>> receive() = 0;
};

// A host can be reached again after it was lost.
class Host {
 public:
  virtual ~Host() = default;
  virtual std::string name() const = 0;
  virtual Task<Result<std::unique_ptr<HostLink>>> connect() = 0;
};

}  // namespace specgen
