#pragma once
// Shared memory that is used again: getting pages from the kernel takes longer than all the rest of laying out a case.
//
// A file is not lent again before every process that had it mapped is gone: one candidate must not read what another
// is asked, nor write where another answers. Which of several files is lent is left to chance, so that a kernel does
// not meet the same memory in every life.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "evaluate/cpu/shared_file.h"

namespace specgen {

class SharedFilePool {
 public:
  enum class Access : std::uint8_t { reading, writing };  // of executors
  using Users = std::vector<std::shared_ptr<const Fd>>;   // pidfds

  // Keeps no more than `most` for later.
  SharedFilePool(Bytes most, std::uint64_t seed) : most_(most), chance_(seed) {}

  // With at least so many bytes, which may be any; sealed if it is for reading.
  Result<SharedFile> take(std::size_t bytes, Access access);
  void give_back(SharedFile file, Access access, const Users& users);

 private:
  struct Kept {
    SharedFile file;
    Users users;  // that were not known to be gone
  };
  std::vector<Kept>& kept(Access access) { return kept_[static_cast<std::size_t>(access)]; }
  void drop_oldest(Access access);

  Bytes most_;
  Random chance_;
  std::array<std::vector<Kept>, 2> kept_;  // the oldest first
  Bytes held_ = {};
};

}  // namespace specgen
