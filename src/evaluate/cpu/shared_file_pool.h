#pragma once
// Shared memory that is used again: getting pages from the kernel takes longer than all the rest of laying out a case.
// Owned by the device.
//
// A file is not lent again before every process that had it mapped is gone, and nothing is left in it of what was
// written there: one candidate must not find what another was asked or answered. Which of several files is lent is left
// to chance. Not for timings that count: they are to meet other memory in every life.

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

  // One that nobody had before.
  static Result<SharedFile> make(std::size_t bytes, Access access);
  // With at least so many bytes. For reading: sealed, and with anything in it, which the caller is to replace.
  Result<SharedFile> take(std::size_t bytes, Access access);
  void give_back(SharedFile file, Access access, const Users& users);

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
