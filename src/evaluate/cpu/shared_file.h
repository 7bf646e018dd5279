#pragma once
// Memory that the judge shares with an executor: an anonymous file, mapped here for reading and
// writing. Once it is sealed no other process can map it for writing; our own mapping stays.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace specgen {

std::size_t page_size();
std::size_t round_up_to_pages(std::size_t bytes);

class SharedFile {
 public:
  // Pages are allocated when touched, or all at once, which is cheaper if all will be touched.
  enum class Pages : std::uint8_t { when_touched, at_once };
  static Result<SharedFile> make(const std::string& name, std::size_t bytes,
                                 Pages pages = Pages::when_touched);
  SharedFile() = default;
  SharedFile(SharedFile&& other) noexcept
      : fd_(std::move(other.fd_)),
        address_(std::exchange(other.address_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  SharedFile& operator=(SharedFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedFile();

  Result<void> seal();
  int fd() const { return fd_.get(); }
  std::span<std::byte> bytes() const { return {address_, bytes_}; }

 private:
  Fd fd_;
  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace specgen
