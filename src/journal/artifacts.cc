#include "journal/artifacts.h"

#include "base/hash.h"

namespace specgen {

Task<Result<ArtifactId>> Artifacts::put(std::string bytes) {
  ArtifactId id{sha256_hex(bytes)};
  CO_TRY(co_await storage_.put(id.sha256, std::move(bytes)));
  co_return id;
}

Task<Result<std::string>> Artifacts::get(ArtifactId id) {
  std::string bytes = CO_TRY(co_await storage_.get(id.sha256));
  if (sha256_hex(bytes) != id.sha256) co_return fail(ErrorCode::artifact_damaged, id.sha256);
  co_return bytes;
}

}  // namespace specgen
