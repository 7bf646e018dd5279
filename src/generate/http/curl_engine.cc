#include "generate/http/curl_engine.h"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/assert.h"
#include "runtime/race.h"

namespace specgen {

constexpr long kMaxIdleConnections = 2048;  // beyond it the oldest is closed

// Called by curl. None resumes a task.
struct CurlEngine::Callbacks {
  static int socket(CURL*, curl_socket_t fd, int what, void* self, void*) noexcept {
    static_cast<CurlEngine*>(self)->watch(fd, what);
    return 0;
  }
  static int timer(CURLM*, long timeout_ms, void* self) noexcept {
    static_cast<CurlEngine*>(self)->set_timer(timeout_ms);
    return 0;
  }
  static curl_socket_t open(void* self, curlsocktype, curl_sockaddr* address) noexcept {
    int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0) return CURL_SOCKET_BAD;
    static_cast<CurlEngine*>(self)->open_again(fd);
    return fd;
  }
};

CurlEngine::CurlEngine(Loop& loop, RealDriver& driver)
    : loop_(loop),
      driver_(driver),
      multi_(curl_multi_init()),
      sockets_(::epoll_create1(EPOLL_CLOEXEC)),
      deadline_is_nearer_(loop),
      timer_(loop) {
  SG_ASSERT(multi_, "libcurl has no memory");
  bool watched = sockets_ && driver_.add(sockets_.get(), EPOLLIN, *this);
  SG_ASSERT(watched, "no descriptors are left for the HTTP client");
  void* self = this;
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Callbacks::socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, self);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Callbacks::timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, self);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxIdleConnections);
  timer_.spawn(run_timer());
}

CurlEngine::~CurlEngine() {
  SG_ASSERT(transfers_ == 0, "an HTTP client is destroyed before its exchanges");
  curl_multi_cleanup(multi_);  // may still report sockets
  driver_.remove(sockets_.get());
}

void CurlEngine::add(void* easy, Transfer& transfer) {
  void* self = this;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, static_cast<void*>(&transfer));
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Callbacks::open);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, self);
  CURLMcode code = curl_multi_add_handle(multi_, easy);  // only sets the timer
  SG_ASSERT(code == CURLM_OK, "libcurl rejected a request");
  ++transfers_;
}

void CurlEngine::remove(void* easy) {
  CURLMcode code = curl_multi_remove_handle(multi_, easy);
  SG_ASSERT(code == CURLM_OK, "libcurl does not know the request");
  --transfers_;
}

void CurlEngine::watch(int fd, int what) {
  auto index = static_cast<std::size_t>(fd);
  if (index >= watched_for_.size()) watched_for_.resize(index + 1);
  std::uint32_t events = 0;
  if (what != CURL_POLL_REMOVE && (what & CURL_POLL_IN)) events |= EPOLLIN;
  if (what != CURL_POLL_REMOVE && (what & CURL_POLL_OUT)) events |= EPOLLOUT;
  watched_for_[index] = events;
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (events == 0) {
    ::epoll_ctl(sockets_.get(), EPOLL_CTL_DEL, fd, nullptr);  // fails if it is closed already
  } else if (::epoll_ctl(sockets_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
    int added = ::epoll_ctl(sockets_.get(), EPOLL_CTL_ADD, fd, &event);
    SG_ASSERT(added == 0, "epoll_ctl failed for a socket of curl");
  }
}

void CurlEngine::open_again(int fd) {
  auto index = static_cast<std::size_t>(fd);
  if (index >= watched_for_.size() || watched_for_[index] == 0) return;
  epoll_event event{.events = watched_for_[index], .data = {.fd = fd}};
  ::epoll_ctl(sockets_.get(), EPOLL_CTL_ADD, fd, &event);
}

void CurlEngine::on_ready(std::uint32_t) {
  std::array<epoll_event, 256> ready;
  int n = ::epoll_wait(sockets_.get(), ready.data(), ready.size(), 0);
  for (const epoll_event& event :
       std::span(ready).first(static_cast<std::size_t>(std::max(n, 0)))) {
    int what = 0;
    if (event.events & (EPOLLIN | EPOLLHUP)) what |= CURL_CSELECT_IN;
    if (event.events & EPOLLOUT) what |= CURL_CSELECT_OUT;
    if (event.events & EPOLLERR) what |= CURL_CSELECT_ERR;
    process(event.data.fd, what);  // curl ignores a socket that it has closed meanwhile
  }
}

// Resumes no task: callbacks and on_end() only set events.
void CurlEngine::process(int fd, int what_is_ready) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, what_is_ready, &running);
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURLcode code = message->data.result;  // the message is freed with its request
    void* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    static_cast<Transfer*>(transfer)->on_end(code);
  }
}

void CurlEngine::set_timer(long timeout_ms) {
  if (timeout_ms < 0) {
    deadline_.reset();
    return;
  }
  deadline_ = loop_.now() + std::chrono::milliseconds(timeout_ms);
  if (!asleep_until_ || *deadline_ < *asleep_until_) deadline_is_nearer_.set();
}

// curl's timer. A deadline that is moved back does not wake it: it sleeps again when the old one has passed.
Task<void> CurlEngine::run_timer() {
  while (true) {
    deadline_is_nearer_.reset();
    if (!deadline_) {
      co_await deadline_is_nearer_.wait();
    } else if (*deadline_ > loop_.now()) {
      asleep_until_ = deadline_;
      co_await race(loop_.sleep_until(*deadline_), deadline_is_nearer_.wait());
      asleep_until_.reset();
    } else {
      deadline_.reset();
      process(CURL_SOCKET_TIMEOUT, 0);
      co_await loop_.yield();  // curl may ask for a timeout of zero many times
    }
  }
}

}  // namespace specgen
