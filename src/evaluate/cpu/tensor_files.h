#pragma once
// Where a rig gets memory for tensors from. Getting pages from the kernel takes longer than all the rest of laying
// out a case, so both kinds save that: SharedFilePool lends memory that was used before, FreshFiles has new memory
// made ahead. Owned by the device.

#include <cstdint>
#include <memory>
#include <vector>

#include "evaluate/cpu/shared_file.h"

namespace specgen {

class TensorFiles {
 public:
  enum class Access : std::uint8_t { reading, writing };  // of executors
  using Users = std::vector<std::shared_ptr<const Fd>>;   // pidfds of those that had it mapped

  virtual ~TensorFiles() = default;
  // With at least so many bytes. For reading: sealed, and with anything in it, which the caller is to replace.
  virtual Result<SharedFile> take(std::size_t bytes, Access access) = 0;
  virtual void give_back(SharedFile file, Access access, const Users& users) = 0;

 protected:
  // One that nobody had before.
  static Result<SharedFile> make(std::size_t bytes, Access access);
};

}  // namespace specgen
