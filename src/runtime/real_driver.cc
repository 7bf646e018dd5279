#include "runtime/real_driver.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>

#include "base/assert.h"

namespace specgen {
namespace {

std::uint64_t seed_from_system() {
  std::uint64_t seed = 0;
  SG_ASSERT(::getrandom(&seed, sizeof seed, 0) == sizeof seed, "getrandom failed");
  return seed;
}

void drain(int counter_fd) {
  std::uint64_t count;
  [[maybe_unused]] ssize_t n =
      ::read(counter_fd, &count, sizeof count);  // EAGAIN: nothing to drain
}

rlim_t g_descriptors_at_start = 0;  // 0: not raised

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  g_descriptors_at_start = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void restore_descriptor_limit() {
  rlimit limit{};
  if (g_descriptors_at_start == 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = g_descriptors_at_start;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

RealDriver::RealDriver(std::optional<std::uint64_t> seed)
    : random_(seed ? *seed : seed_from_system()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      posted_event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  SG_ASSERT(epoll_ && timer_ && posted_event_, "no descriptors are left for the event loop");
  raise_descriptor_limit();
  ::signal(SIGPIPE, SIG_IGN);  // writing to a closed connection returns an error instead
  for (const Fd* own : {&timer_, &posted_event_}) {
    SG_ASSERT(control(EPOLL_CTL_ADD, own->get(), EPOLLIN), "epoll_ctl failed");
  }
}

RealDriver::~RealDriver() = default;

Time RealDriver::now() const {
  return Time(std::chrono::steady_clock::now().time_since_epoch());
}

WallTime RealDriver::wall_now() const {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

bool RealDriver::wait(std::optional<Time> deadline) {
  arm_timer(deadline);
  take_events(-1);
  return true;  // a thread or a descriptor may always cause an event
}

void RealDriver::arm_timer(std::optional<Time> deadline) {
  if (deadline == armed_) return;
  armed_ = deadline;
  itimerspec spec{};
  if (deadline) {
    auto ns = std::max<std::int64_t>(1, deadline->time_since_epoch().count());  // 0 would disarm
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  SG_ASSERT(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0,
            "timerfd_settime failed");
}

void RealDriver::take_events(int timeout_ms) {
  std::array<epoll_event, 256> events;
  int n = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  if (n < 0) {
    SG_ASSERT(errno == EINTR, "epoll_wait failed");
    return;
  }
  bool has_posted = false;
  for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(n))) {
    int fd = event.data.fd;
    if (fd == timer_.get()) {
      drain(fd);
      armed_.reset();
    } else if (fd == posted_event_.get()) {
      drain(fd);
      has_posted = true;
    } else if (FdHandler* handler = handlers_[static_cast<std::size_t>(fd)]) {
      handler->on_ready(event.events);
    }  // else: removed by an earlier handler of this batch
  }
  if (has_posted) run_posted();
}

void RealDriver::post(std::move_only_function<void()> callback) {
  bool was_empty;
  {
    std::lock_guard lock(posted_mutex_);
    was_empty = posted_.empty();
    posted_.push_back(std::move(callback));
  }
  if (!was_empty) return;  // the event is pending already
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(posted_event_.get(), &one, sizeof one);
}

void RealDriver::run_posted() {
  std::vector<std::move_only_function<void()>> callbacks;
  {
    std::lock_guard lock(posted_mutex_);
    callbacks.swap(posted_);
  }
  for (auto& callback : callbacks) callback();
}

Result<void> RealDriver::add(int fd, std::uint32_t epoll_events, FdHandler& handler) {
  if (!control(EPOLL_CTL_ADD, fd, epoll_events)) return fail_errno("epoll", errno);
  auto index = static_cast<std::size_t>(fd);
  if (index >= handlers_.size()) handlers_.resize(index + 1);
  handlers_[index] = &handler;
  return {};
}

void RealDriver::modify(int fd, std::uint32_t epoll_events) {
  SG_ASSERT(control(EPOLL_CTL_MOD, fd, epoll_events), "the descriptor is not registered");
}

void RealDriver::remove(int fd) {
  SG_ASSERT(control(EPOLL_CTL_DEL, fd, 0), "the descriptor is not registered");
  handlers_[static_cast<std::size_t>(fd)] = nullptr;
}

bool RealDriver::control(int operation, int fd, std::uint32_t epoll_events) {
  epoll_event event{};
  event.events = epoll_events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

}  // namespace specgen
