#pragma once
// What provides a host's memory to jobs: a component (kvcache) uses the memory while no job needs it, and returns it
// before a job runs.

#include <memory>
#include <string>

#include "runtime/task.h"

namespace specgen {

class MemoryProvider {
 public:
  // What was asked for holds until this is destroyed.
  class Hold {
   public:
    virtual ~Hold() = default;
  };

  virtual ~MemoryProvider() = default;

  // Reserves memory for a job on this device ("cpu:0", "cuda:1"); waits until it is free, tens of milliseconds at most.
  // If there is not enough, the job itself fails with out_of_memory.
  virtual Task<std::unique_ptr<Hold>> reserve(std::string device) = 0;

  // Stops copies to and from this device while something is timed on it; waits until they have stopped, milliseconds at
  // most. Call it after reserve().
  virtual Task<std::unique_ptr<Hold>> pause_copies(std::string device) = 0;
};

}  // namespace specgen
