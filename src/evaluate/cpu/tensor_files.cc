#include "evaluate/cpu/tensor_files.h"

namespace specgen {

Result<SharedFile> TensorFiles::make(std::size_t bytes, Access access) {
  SharedFile file = TRY(SharedFile::make("tensors", bytes, SharedFile::Pages::at_once));
  if (access == Access::reading) TRY(file.seal());
  return file;
}

}  // namespace specgen
