#pragma once
// The seam between the journal and a disk. The real one is SQLite on a thread of its own
// (sqlite_storage.h); the simulator's lives in the loop and can be full, fail or crash at will
// (virtual_storage.h). Above this line nobody knows the difference.

#include <cstdint>
#include <string>
#include <vector>

#include "base/artifact_id.h"
#include "base/error.h"
#include "base/units.h"
#include "runtime/task.h"

namespace specgen {

// One thing that happened. Entries are numbered 1, 2, 3... without gaps, and never change.
struct Entry {
  std::uint64_t sequence = 0;
  WallTime at;       // a label for people; order is by sequence
  std::string type;  // "verdict", "call-intent"
  std::string body;  // JSON; what is big is an artifact, and its name stands here

  friend bool operator==(const Entry&, const Entry&) = default;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // Everything that was committed, in order. Asked once, before the first commit.
  virtual Task<Result<std::vector<Entry>>> load() = 0;

  // All of the batch or nothing of it; durable when this returns success. After a failure nothing
  // more may be committed: whether the failed batch is there is known only after opening again.
  virtual Task<Result<void>> commit(std::vector<Entry> batch) = 0;

  // Sources, logs and traces beside the journal, named by the SHA-256 of their content: equal things are stored
  // once, and a damaged one is known by its name. Whole or not at all, durable on return. Store the artifact first,
  // then append the entry that names it.
  virtual Task<Result<ArtifactId>> put(std::string bytes) = 0;
  virtual Task<Result<std::string>> get(ArtifactId id) = 0;
};

}  // namespace specgen
