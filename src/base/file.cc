#include "base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/environment.h"
#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

bool is_executable_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::string> read_file(const fs::path& path, Bytes limit) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(path.string(), errno);
  std::string bytes;
  char chunk[1 << 16];
  while (true) {
    ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(path.string(), errno);
    if (n == 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(n));
    if (bytes.size() > limit.count) {
      return fail(ErrorCode::file_too_large,
                  fmt::format("{} is over {}", path.string(), format_bytes(limit)));
    }
  }
}

Result<void> sync_folder(const fs::path& folder) {
  Fd fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail_errno(folder.string(), errno);
  return {};
}

Result<void> write_file_durably(const fs::path& path, std::string_view bytes) {
  // The pid separates two processes; one process writes a given path from one thread.
  fs::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return fail_errno(temporary.string(), errno);
  Result<void> written;
  if (int error = write_all(fd.get(), bytes)) written = fail_errno(temporary.string(), error);
  if (written && ::fsync(fd.get()) != 0) written = fail_errno(temporary.string(), errno);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = fail_errno(path.string(), errno);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_folder(path.parent_path());
}

fs::path program_folder() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : self.parent_path();
}

fs::path find_program(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return is_executable_file(name) ? fs::path(name) : fs::path();
  }
  fs::path carried = program_folder().parent_path() / "libexec" / "specgen" / name;
  if (is_executable_file(carried)) return carried;
  std::string path = environment_variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (std::string_view folder : split(path, ':')) {
    fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (is_executable_file(candidate)) return candidate;
  }
  return {};
}

}  // namespace specgen
