#pragma once
// Frames on a pipe: four bytes of length, lowest first, then that many bytes of JSON, at most 16 MiB.

#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "runtime/async_fd.h"
#include "runtime/task.h"

namespace specgen {

inline constexpr std::size_t kLargestFrame = std::size_t{16} << 20;

class FrameReader {
 public:
  explicit FrameReader(AsyncFd& pipe) : pipe_(pipe) {}
  // Nothing if the other side has closed. bad_message for half a frame or one that is too long.
  Task<Result<std::optional<std::string>>> next();

 private:
  AsyncFd& pipe_;
  std::string buffered_;
};

std::string framed(const Json& value);

}  // namespace specgen
