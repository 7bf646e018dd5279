#pragma once
// Memory for the tensors of a test rig. Getting pages from the kernel takes longer than the rest of
// laying out a case, so both kinds avoid it: SharedFilePool reuses memory, FreshFiles allocates new
// memory ahead of time. Owned by the device.

#include <cstdint>
#include <memory>
#include <vector>

#include "evaluate/cpu/shared_file.h"

namespace specgen {

class TensorFiles {
 public:
  enum class Access : std::uint8_t { reading, writing };  // of executors
  using Users =
      std::vector<std::shared_ptr<const Fd>>;  // pidfds of the processes that had it mapped

  virtual ~TensorFiles() = default;
  // At least so many bytes. For reading: sealed, with any content, which the caller must replace.
  virtual Result<SharedFile> take(std::size_t bytes, Access access) = 0;
  virtual void give_back(SharedFile file, Access access, const Users& users) = 0;

 protected:
  // A new one.
  static Result<SharedFile> make(std::size_t bytes, Access access) {
    SharedFile file = TRY(SharedFile::make("tensors", bytes, SharedFile::Pages::at_once));
    if (access == Access::reading) TRY(file.seal());
    return file;
  }
};

}  // namespace specgen
