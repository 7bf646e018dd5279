#pragma once
// Sources, logs and traces, named by the SHA-256 of their content: equal things are stored once,
// and a damaged one is known by its name. Store the artifact first, then the entry that names it.

#include <string>

#include "base/error.h"
#include "journal/storage.h"
#include "runtime/task.h"

namespace specgen {

struct ArtifactId {
  std::string sha256;  // 64 hex digits
  friend bool operator==(const ArtifactId&, const ArtifactId&) = default;
};

class Artifacts {
 public:
  explicit Artifacts(Storage& storage) : storage_(storage) {}

  Task<Result<ArtifactId>> put(std::string bytes);
  Task<Result<std::string>> get(ArtifactId id);  // checked against its name

 private:
  Storage& storage_;
};

}  // namespace specgen
