#pragma once
// Tensors in one piece of shared memory, each at a multiple of 64 bytes: how they travel to and from Python processes.
// Memory that we share has a sealed size, so that no other process can shrink it; memory from another process is read,
// never mapped.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "evaluate/task/cases.h"

namespace specgen {

struct Placed {
  std::vector<std::size_t> offsets;
  std::size_t size = 0;  // of all
};
Placed place(std::span<const std::size_t> sizes);

// The contents, each as long as its size. bad_message if there is less.
Result<std::vector<std::vector<std::byte>>> read_tensors(const Fd& from,
                                                         std::span<const std::size_t> sizes);

class SharedTensors {
 public:
  static Result<SharedTensors> make(std::span<const std::size_t> sizes);
  SharedTensors(SharedTensors&& other) noexcept;
  SharedTensors& operator=(SharedTensors&&) = delete;
  ~SharedTensors();

  int descriptor() const { return fd_.get(); }
  std::size_t count() const { return sizes_.size(); }
  std::size_t offset(std::size_t index) const { return placed_.offsets[index]; }
  std::span<std::byte> tensor(std::size_t index) const;

 private:
  SharedTensors() = default;
  Fd fd_;
  Placed placed_;
  std::vector<std::size_t> sizes_;
  std::byte* memory_ = nullptr;
};

}  // namespace specgen
