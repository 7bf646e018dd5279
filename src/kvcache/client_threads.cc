#include "kvcache/client_threads.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/assert.h"
#include "runtime/async_fd.h"
#include "runtime/stopwatch.h"

namespace specgen {

ClientThreads::ClientThreads(Fd listener, std::size_t threads, std::size_t max_clients,
                             std::vector<int> cores, Serve serve)
    : max_clients_(max_clients),
      cores_(std::move(cores)),
      serve_(std::move(serve)),
      workers_(std::max<std::size_t>(threads, 1)) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    worker.number = i;
    worker.thread = std::make_unique<LoopThread>(
        [this, &worker](Loop& loop, RealDriver& driver) { return work(worker, loop, driver); });
  }
  // A std::function must be copyable; it is called once.
  acceptor_ = std::make_unique<LoopThread>(
      [this, taken = std::make_shared<Fd>(std::move(listener))](Loop& loop, RealDriver& driver) {
        return accept_clients(loop, driver, std::move(*taken));
      });
}

ClientThreads::~ClientThreads() {
  acceptor_.reset();  // no new clients from here on
  for (Worker& worker : workers_)
    worker.thread->stop();  // all of them before the first is destroyed: they post to each other
}

void ClientThreads::pin_thread() const {
  if (!cores_.empty()) (void)pin_to_cores(cores_);
}

Task<void> ClientThreads::work(Worker& mine, Loop& loop, RealDriver& driver) {
  pin_thread();
  TaskGroup group(loop);
  mine.loop = &loop;
  mine.driver = &driver;
  mine.group = &group;
  struct Ending {
    Worker& worker;
    ~Ending() { worker.group = nullptr; }
  } ending{mine};
  for (Fd& fd : mine.early) group.spawn(serve_one(mine, std::move(fd)));
  mine.early.clear();
  co_await loop.sleep_until(Time::max());
}

void ClientThreads::admit(Worker& worker, Fd fd) {
  if (worker.group) {
    worker.group->spawn(serve_one(worker, std::move(fd)));
  } else {
    worker.early.push_back(std::move(fd));
  }
}

void ClientThreads::run_on(std::size_t thread, Help help) {
  Worker& worker = workers_[thread];
  worker.thread->post([this, &worker, help = std::move(help)]() mutable {
    if (worker.group) worker.group->spawn(help(worker.here(*this)));
  });
}

Task<void> ClientThreads::serve_one(Worker& mine, Fd fd) {
  co_await serve_(mine.here(*this), std::move(fd));
  --mine.clients;
}

Task<void> ClientThreads::accept_clients(Loop& loop, RealDriver& driver, Fd listener) {
  pin_thread();
  auto listening = AsyncFd::open(loop, driver, std::move(listener));
  SG_ASSERT(listening, "a listening socket cannot be polled");
  while (true) {
    Fd fd(::accept4((*listening)->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && errno == EAGAIN) {
      co_await (*listening)->wait_readable();
    } else if (!fd) {
      // Out of descriptors until some are closed; or the client has gone already.
      co_await loop.sleep(
          std::chrono::milliseconds(errno == ECONNABORTED || errno == EINTR ? 0 : 100));
    } else {
      Worker& idlest = *std::ranges::min_element(
          workers_, {}, [](const Worker& worker) { return worker.clients.load(); });
      if (idlest.clients >= max_clients_ / workers_.size() + 1)
        continue;  // its connection is closed
      ++idlest.clients;
      idlest.thread->post(
          [this, &idlest, fd = std::move(fd)]() mutable { admit(idlest, std::move(fd)); });
    }
  }
}

}  // namespace specgen
