#pragma once
// Whoever uses a host's spare memory while no job needs it, as the node sees it: asked before a job runs, and told when
// its device is offered again.

#include <memory>
#include <string>

#include "runtime/task.h"

namespace specgen {

class MemoryLender {
 public:
  // Held for as long as the memory is needed, or the device must be left alone; dropping it gives that back.
  class Hold {
   public:
    virtual ~Hold() = default;
  };

  virtual ~MemoryLender() = default;

  // Memory for a job on this device ("cpu:0", "cuda:1"); waits until it is free, tens of milliseconds at most. Where
  // there is not enough the job finds out for itself.
  virtual Task<std::unique_ptr<Hold>> make_room(std::string device) = 0;

  // While something is timed on this device nothing is copied to or from it: waits until that is so, milliseconds at
  // most. To be asked for after the room.
  virtual Task<std::unique_ptr<Hold>> keep_quiet(std::string device) = 0;
};

}  // namespace specgen
