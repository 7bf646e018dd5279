#include "evaluate/judge/device_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace specgen {
namespace {

// Opened without O_CREAT first: in a folder that all users may write to the kernel refuses O_CREAT on a file
// of another user.
Result<Fd> open_lock_file(const std::string& name) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("specgen-" + name + ".lock")).string();
  for (int flags : {O_RDONLY, O_RDONLY | O_CREAT}) {
    Fd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd) {
      (void)::fchmod(fd.get(), 0666);  // past the umask, if it is ours
      return fd;
    }
  }
  return fail_errno(path, errno);
}

}  // namespace

Result<bool> DeviceLock::try_all() {
  std::vector<Fd> taken;
  for (const std::string& name : names_) {
    Fd fd = TRY(open_lock_file(name));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return false;
      return fail_errno("flock", errno);
    }
    taken.push_back(std::move(fd));
  }
  held_ = std::move(taken);
  return true;
}

Task<Result<void>> DeviceLock::acquire(Loop& loop, Duration limit,
                                       std::function<void(std::string_view)> on_waiting) {
  if (held() || names_.empty()) co_return Result<void>();
  constexpr Duration kBetweenTries = std::chrono::milliseconds(10);
  const Time start = loop.now();
  for (bool is_reported = false; !CO_TRY(try_all());) {
    if (loop.now() - start > limit) {
      co_return fail(ErrorCode::device_busy,
                     fmt::format("{}: waited {}", fmt::join(names_, ", "), format_duration(limit)));
    }
    if (!is_reported && on_waiting)
      on_waiting("waiting for the device, which another process uses");
    is_reported = true;
    co_await loop.sleep(kBetweenTries);
  }
  co_return Result<void>();
}

}  // namespace specgen
