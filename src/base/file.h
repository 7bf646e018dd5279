#pragma once
// Files and descriptors. Everything here blocks: call it at start-up, on a WorkerThread, or for small
// local files.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// Writes all bytes, repeating partial writes. Returns 0 or errno.
int write_all(int fd, std::string_view bytes);

Result<std::string> read_file(const std::filesystem::path& path, Bytes limit = MiB(16));

// Atomic, and durable on return: writes a temporary file, fsync, rename, fsync of the folder.
Result<void> write_file_durably(const std::filesystem::path& path, std::string_view bytes);
Result<void> sync_folder(const std::filesystem::path& folder);

// The folder of the running program, links resolved.
std::filesystem::path program_folder();

// The path of a helper program: first in ../libexec/specgen beside our own (in an unpacked archive),
// then on PATH. A name with a slash is used as it is. Empty if there is no such program.
std::filesystem::path find_program(std::string_view name);

}  // namespace specgen
