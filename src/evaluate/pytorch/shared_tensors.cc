#include "evaluate/pytorch/shared_tensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace specgen {
namespace {

constexpr std::size_t kAlignment = 64;  // as common.py has it

}  // namespace

Placed place(std::span<const std::size_t> sizes) {
  Placed placed;
  for (std::size_t size : sizes) {
    placed.offsets.push_back(placed.size);
    placed.size += (size + kAlignment - 1) / kAlignment * kAlignment;
  }
  placed.size = std::max(placed.size, kAlignment);
  return placed;
}

Result<std::vector<std::vector<std::byte>>> read_tensors(const Fd& from,
                                                         std::span<const std::size_t> sizes) {
  Placed placed = place(sizes);
  std::vector<std::vector<std::byte>> tensors;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<std::byte> tensor(sizes[i]);
    std::size_t done = 0;
    while (done < tensor.size()) {
      ssize_t n = ::pread(from.get(), tensor.data() + done, tensor.size() - done,
                          static_cast<off_t>(placed.offsets[i] + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail(ErrorCode::bad_message, "a tensor is shorter than announced");
      done += static_cast<std::size_t>(n);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<SharedTensors> SharedTensors::make(std::span<const std::size_t> sizes) {
  SharedTensors made;
  made.sizes_.assign(sizes.begin(), sizes.end());
  made.placed_ = place(sizes);
  made.fd_ = Fd(::memfd_create("tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.fd_) return fail_errno("memfd_create", errno);
  if (::ftruncate(made.fd_.get(), static_cast<off_t>(made.placed_.size)) != 0) {
    return fail_errno("ftruncate", errno);
  }
  if (::fcntl(made.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail_errno("sealing memory", errno);
  }
  void* memory =
      ::mmap(nullptr, made.placed_.size, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd_.get(), 0);
  if (memory == MAP_FAILED) return fail_errno("mmap", errno);
  made.memory_ = static_cast<std::byte*>(memory);
  return made;
}

SharedTensors::SharedTensors(SharedTensors&& other) noexcept
    : fd_(std::move(other.fd_)),
      placed_(std::move(other.placed_)),
      sizes_(std::move(other.sizes_)),
      memory_(std::exchange(other.memory_, nullptr)) {}

SharedTensors::~SharedTensors() {
  if (memory_ != nullptr) ::munmap(memory_, placed_.size);
}

std::span<std::byte> SharedTensors::tensor(std::size_t index) const {
  return {memory_ + placed_.offsets[index], sizes_[index]};
}

}  // namespace specgen
