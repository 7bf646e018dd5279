#pragma once
// The files of a run folder beside the database: the writer's lock and the artifacts. Private to this module. Blocks.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "journal/storage.h"

namespace specgen {

// journal.lock, locked by the one process that writes for as long as it exists. Its text is that process's number and
// how many entries it knows to be durable. The count is never synced, so after a power cut it may be too low; it shows
// a journal that lost its end, and readers that there is something new.
class WriterLock {
 public:
  static Result<WriterLock> take(const std::filesystem::path& folder);  // or journal_locked

  std::uint64_t durable_before() const { return durable_before_; }
  Result<void> record_durable(std::uint64_t count);

  // What another process can see of it. Looking takes no lock, so it never makes take() fail.
  struct Seen {
    bool is_held = false;
    std::string owner = {};  // process number
    std::uint64_t durable = 0;
  };
  static Result<Seen> inspect(const std::filesystem::path& folder);

 private:
  WriterLock(Fd fd, std::uint64_t durable) : fd_(std::move(fd)), durable_before_(durable) {}
  Fd fd_;
  std::uint64_t durable_before_ = 0;
};

inline constexpr Bytes kMaxArtifact = GiB(1);

// artifacts/3f/3f9a...: a folder of a hundred thousand files is slow to list and to sync.
std::filesystem::path artifact_path(const std::filesystem::path& folder, const ArtifactId& id);
// artifact_damaged if the content is not what the name says.
Result<std::string> read_artifact(const std::filesystem::path& folder, const ArtifactId& id);

}  // namespace specgen
