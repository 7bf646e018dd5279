#pragma once
// The name of a stored file: the SHA-256 of its content (journal/storage.h).

#include <string>

namespace specgen {

struct ArtifactId {
  std::string sha256;  // 64 hex digits; empty: none
  friend bool operator==(const ArtifactId&, const ArtifactId&) = default;
};

}  // namespace specgen
