#include "generate/cassette/cassette_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace specgen {
namespace {

// Limits the memory used while the disk is stuck.
constexpr std::size_t kMaxQueued = 256 << 20;

std::unexpected<Error> fail_to_open(const std::string& name, int error_number) {
  if (error_number == EEXIST) {
    return fail(ErrorCode::bad_usage, name + " already exists",
                "continue it with --append, or choose another name");
  }
  return fail_errno(name, error_number);
}

Result<Fd> open_locked(const std::string& name, WriteMode mode) {
  int flags = O_RDWR | O_CREAT | O_CLOEXEC | (mode == WriteMode::create ? O_EXCL : 0);
  Fd file(::open(name.c_str(), flags, 0600));  // conversations are private
  if (!file) return fail_to_open(name, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail_errno(name, errno);
    return fail(ErrorCode::bad_usage, name + " is being recorded by another process",
                "stop that process first, or choose another file");
  }
  return file;
}

Result<void> write_and_sync(int fd, const std::string& bytes, const std::string& name, bool sync) {
  if (int error = write_all(fd, bytes); error != 0) return fail_errno(name, error);
  if (sync && ::fdatasync(fd) != 0) return fail_errno(name, errno);
  return {};
}

}  // namespace

Result<std::unique_ptr<CassetteWriter>> CassetteWriter::open(Loop& loop, RealDriver& driver,
                                                             const std::filesystem::path& path,
                                                             WriteMode mode) {
  std::string name = path.string();
  Fd file = TRY(open_locked(name, mode));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail_errno(name, errno);
  Cassette before;
  if (status.st_size > 0) before = TRY(read_cassette(path));
  // Remove an incomplete last line of an interrupted recording: it would join with the next one.
  auto size = static_cast<off_t>(before.complete_bytes);
  if (::ftruncate(file.get(), size) != 0 || ::lseek(file.get(), size, SEEK_SET) != size) {
    return fail_errno(name, errno);
  }
  return std::unique_ptr<CassetteWriter>(new CassetteWriter(
      loop, driver, std::make_shared<Fd>(std::move(file)), std::move(name), before));
}

CassetteWriter::CassetteWriter(Loop& loop, RealDriver& driver, std::shared_ptr<Fd> file,
                               std::string name, const Cassette& before)
    : loop_(loop),
      name_(std::move(name)),
      file_(std::move(file)),
      encoder_(before.last_checksum),
      last_number_(before.exchanges.size()),
      size_(before.complete_bytes),
      something_queued_(loop),
      thread_(loop, driver) {
  if (before.complete_bytes == 0) add(encoder_.header());
}

void CassetteWriter::add(std::string line) {
  size_ += line.size();
  queued_ += line;
  something_queued_.set();
}

void CassetteWriter::session(std::string_view upstream) {
  add(encoder_.session(loop_.wall_now(), upstream));
}

std::uint64_t CassetteWriter::request(const RecordedRequest& request) {
  add(encoder_.request(++last_number_, request));
  return last_number_;
}

void CassetteWriter::head(std::uint64_t number, Duration after, const HttpHead& head) {
  add(encoder_.head(number, after, head));
}

void CassetteWriter::piece(std::uint64_t number, Duration after, std::string_view bytes) {
  add(encoder_.piece(number, after, bytes));
}

void CassetteWriter::end(std::uint64_t number, Duration after, ExchangeEnd how,
                         std::string_view error) {
  add(encoder_.end(number, after, how, error));
}

Task<Result<void>> CassetteWriter::write_out() {
  while (true) {
    co_await something_queued_.wait();
    something_queued_.reset();
    if (queued_.size() > kMaxQueued) {
      co_return fail(ErrorCode::system_call, name_ + ": the disk is too slow for this recording",
                     "record to a local disk");
    }
    std::string bytes = std::exchange(queued_, {});
    CO_TRY(co_await thread_.run([file = file_, bytes = std::move(bytes), name = name_] {
      return write_and_sync(file->get(), bytes, name, false);
    }));
  }
}

Task<Result<void>> CassetteWriter::close() {
  std::string bytes = std::exchange(queued_, {});
  co_return co_await thread_.run([file = file_, bytes = std::move(bytes), name = name_] {
    return write_and_sync(file->get(), bytes, name, true);
  });
}

}  // namespace specgen
