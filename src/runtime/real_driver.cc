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
  SG_ASSERT(::getrandom(&seed, sizeof seed, 0) == sizeof seed, "the system has no randomness");
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
      mail_bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  SG_ASSERT(epoll_ && timer_ && mail_bell_, "the system has no descriptors for the event loop");
  raise_descriptor_limit();
  ::signal(SIGPIPE, SIG_IGN);  // a peer that went away is an error of that write, not our end
  for (const Fd* own : {&timer_, &mail_bell_}) {
    SG_ASSERT(control(EPOLL_CTL_ADD, own->get(), EPOLLIN), "epoll refuses");
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
  return true;  // a signal, a thread or a descriptor can always come
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
            "timerfd refuses");
}

void RealDriver::take_events(int timeout_ms) {
  std::array<epoll_event, 256> events;
  int n = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  if (n < 0) {
    SG_ASSERT(errno == EINTR, "epoll_wait fails");
    return;
  }
  bool mail = false;
  for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(n))) {
    int fd = event.data.fd;
    if (fd == timer_.get()) {
      drain(fd);
      armed_.reset();
    } else if (fd == mail_bell_.get()) {
      drain(fd);
      mail = true;
    } else if (FdHandler* handler = handlers_[static_cast<std::size_t>(fd)]) {
      handler->on_ready(event.events);
    }  // else: removed by a handler before it in this very batch
  }
  if (mail) read_mail();
}

void RealDriver::post(std::move_only_function<void()> letter) {
  bool was_empty;
  {
    std::lock_guard lock(mail_mutex_);
    was_empty = mail_.empty();
    mail_.push_back(std::move(letter));
  }
  if (!was_empty) return;  // the bell has been rung for what lies there
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(mail_bell_.get(), &one, sizeof one);
}

void RealDriver::read_mail() {
  std::vector<std::move_only_function<void()>> letters;
  {
    std::lock_guard lock(mail_mutex_);
    letters.swap(mail_);
  }
  for (auto& letter : letters) letter();
}

Result<void> RealDriver::add(int fd, std::uint32_t epoll_events, FdHandler& handler) {
  if (!control(EPOLL_CTL_ADD, fd, epoll_events)) return fail_errno("epoll", errno);
  auto index = static_cast<std::size_t>(fd);
  if (index >= handlers_.size()) handlers_.resize(index + 1);
  handlers_[index] = &handler;
  return {};
}

void RealDriver::modify(int fd, std::uint32_t epoll_events) {
  SG_ASSERT(control(EPOLL_CTL_MOD, fd, epoll_events), "epoll does not know the descriptor");
}

void RealDriver::remove(int fd) {
  SG_ASSERT(control(EPOLL_CTL_DEL, fd, 0), "epoll does not know the descriptor");
  handlers_[static_cast<std::size_t>(fd)] = nullptr;
}

bool RealDriver::control(int operation, int fd, std::uint32_t epoll_events) {
  epoll_event event{};
  event.events = epoll_events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

}  // namespace specgen
