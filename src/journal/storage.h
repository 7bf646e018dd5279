#pragma once
// The interface between the journal and a disk. The real implementation is SQLite on its own thread
// (sqlite_storage.h); the simulator's runs in the loop and can be full, fail or crash on request (virtual_storage.h).

#include <cstdint>
#include <string>
#include <vector>

#include "base/artifact_id.h"
#include "base/error.h"
#include "base/units.h"
#include "runtime/task.h"

namespace specgen {

// Entries are numbered 1, 2, 3... without gaps, and never change.
struct Entry {
  std::uint64_t sequence = 0;
  WallTime at;       // for display only; order is by sequence
  std::string type;  // "verdict", "call-intent"
  std::string body;  // JSON; large content is an artifact, named here

  friend bool operator==(const Entry&, const Entry&) = default;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // Every committed entry, in order. Called once, before the first commit.
  virtual Task<Result<std::vector<Entry>>> load() = 0;

  // Atomic, and durable when this returns success. After a failure no other commit may follow: only opening again shows
  // whether the failed batch was written.
  virtual Task<Result<void>> commit(std::vector<Entry> batch) = 0;

  // Sources, logs and traces beside the journal, named by the SHA-256 of their content: equal content is stored once,
  // and damage is detected. put() is atomic, and durable on return. Store the artifact first, then append the
  // entry that
  // names it.
  virtual Task<Result<ArtifactId>> put(std::string bytes) = 0;
  virtual Task<Result<std::string>> get(ArtifactId id) = 0;
};

}  // namespace specgen
