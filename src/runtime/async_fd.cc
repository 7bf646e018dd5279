#include "runtime/async_fd.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

namespace specgen {

Result<std::unique_ptr<AsyncFd>> AsyncFd::open(Loop& loop, RealDriver& driver, Fd fd) {
  int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0) {
    return fail_errno("fcntl", errno);
  }
  std::unique_ptr<AsyncFd> opened(new AsyncFd(loop, driver, std::move(fd)));
  auto added = driver.add(opened->get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, *opened);
  if (!added) {
    opened->fd_.reset();  // the destructor has nothing to remove
    return std::unexpected(std::move(added).error());
  }
  return opened;
}

AsyncFd::AsyncFd(Loop& loop, RealDriver& driver, Fd fd)
    : loop_(loop), driver_(driver), fd_(std::move(fd)), readable_(loop), writable_(loop) {}

AsyncFd::~AsyncFd() {
  if (fd_) driver_.remove(fd_.get());
}

void AsyncFd::on_ready(std::uint32_t epoll_events) {
  if (epoll_events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) readable_.set();
  if (epoll_events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) writable_.set();
}

Task<Result<std::size_t>> AsyncFd::read_some(std::span<char> buffer) {
  SG_ASSERT(!buffer.empty(), "reading into an empty buffer would look like the end of the stream");
  constexpr int kMaxReadsInARow = 16;
  if (++reads_in_a_row_ > kMaxReadsInARow) {
    reads_in_a_row_ = 0;
    co_await loop_.yield();
  }
  while (true) {
    ssize_t n = ::read(fd_.get(), buffer.data(), buffer.size());
    if (n >= 0) co_return static_cast<std::size_t>(n);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return fail_errno("read", errno);
    readable_.reset();
    reads_in_a_row_ = 0;
    co_await readable_.wait();
  }
}

Task<Result<void>> AsyncFd::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      writable_.reset();
      co_await writable_.wait();
    } else if (errno != EINTR) {
      co_return fail_errno("write", errno);
    }
  }
  co_return Result<void>();
}

}  // namespace specgen
