#pragma once
// A disk for the simulator and for tests: it runs in the loop in virtual time and can be made full, fail at the Nth
// write, or crash. The VirtualDisk outlives the run that used it; destroying the VirtualStorage (and
// everything above it)
// at any moment is a crash.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "journal/storage.h"
#include "runtime/loop.h"

namespace specgen {

struct VirtualDisk {
  std::vector<Entry> entries;
  std::unordered_map<std::string, std::string> artifacts;  // by their hash; never iterated over

  Duration commit_time = std::chrono::milliseconds(5);
  Bytes capacity = GiB(1);
  std::uint64_t writes = 0;                    // so far: one for each entry, artifact and commit
  std::optional<std::uint64_t> failing_write;  // that one returns an I/O error
  std::size_t used_bytes = 0;
};

class VirtualStorage final : public Storage {
 public:
  VirtualStorage(Loop& loop, VirtualDisk& disk) : loop_(loop), disk_(disk) {}

  Task<Result<std::vector<Entry>>> load() override;
  Task<Result<void>> commit(std::vector<Entry> batch) override;
  Task<Result<ArtifactId>> put(std::string bytes) override;
  Task<Result<std::string>> get(ArtifactId id) override;

 private:
  Result<void> write(std::size_t bytes);

  Loop& loop_;
  VirtualDisk& disk_;
};

}  // namespace specgen
