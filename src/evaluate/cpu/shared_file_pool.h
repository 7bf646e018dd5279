#pragma once
// Reuses shared memory. A file is reused only after every process that had it mapped has ended, and
// with its contents overwritten: a candidate must not find another's inputs or outputs. Which of
// several files is reused is random. Not for timings that count: each process must get different
// memory there.

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "evaluate/cpu/tensor_files.h"

namespace specgen {

class SharedFilePool final : public TensorFiles {
 public:
  // Keeps at most `max_kept`.
  SharedFilePool(Bytes max_kept, std::uint64_t seed) : max_kept_(max_kept), random_(seed) {}

  Result<SharedFile> take(std::size_t bytes, Access access) override;
  void give_back(SharedFile file, Access access, const Users& users) override;

 private:
  struct Kept {
    SharedFile file;
    Access access;
    Users users;  // that may still run
  };

  Bytes max_kept_;
  Random random_;
  std::vector<Kept> kept_;  // oldest first
  Bytes bytes_kept_ = {};
};

}  // namespace specgen
