#pragma once
// A new folder with mode 0700, removed with its content on destruction.

#include <filesystem>
#include <utility>

#include "base/error.h"

namespace specgen {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();  // in TMPDIR, else in /tmp
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace specgen
