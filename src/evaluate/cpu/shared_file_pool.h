#pragma once
// Shared memory that is used again. A file is not lent again before every process that had it mapped is gone, and
// nothing is left in it of what was written there: one candidate must not find what another was asked or answered.
// Which of several files is lent is left to chance. Not for timings that count: they are to meet other memory in
// every life.

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "evaluate/cpu/tensor_files.h"

namespace specgen {

class SharedFilePool final : public TensorFiles {
 public:
  // Keeps no more than `most` for later.
  SharedFilePool(Bytes most, std::uint64_t seed) : most_(most), chance_(seed) {}

  Result<SharedFile> take(std::size_t bytes, Access access) override;
  void give_back(SharedFile file, Access access, const Users& users) override;

 private:
  struct Kept {
    SharedFile file;
    Access access;
    Users users;  // that were not known to be gone
  };

  Bytes most_;
  Random chance_;
  std::vector<Kept> kept_;  // the oldest first
  Bytes held_ = {};
};

}  // namespace specgen
