#include "cli/look.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/terminal.h"
#include "runtime/race.h"

namespace specgen {
namespace {

// Signals that ask us to end, as long as this object lives: taken from a descriptor instead of
// killing us. Those that our parent has us ignore (nohup) stay ignored.
class EndRequests {
 public:
  EndRequests() {
    sigemptyset(&mine_);
    for (int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action{};
      ::sigaction(number, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&mine_, number);
    }
    ::sigprocmask(SIG_BLOCK, &mine_, &before_);
  }
  ~EndRequests() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  EndRequests(const EndRequests&) = delete;

  Result<std::unique_ptr<AsyncFd>> open(Loop& loop, RealDriver& driver) const {
    Fd fd(::signalfd(-1, &mine_, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return fail_errno("signalfd", errno);
    return AsyncFd::open(loop, driver, std::move(fd));
  }

 private:
  sigset_t mine_{};
  sigset_t before_{};
};

Task<int> end_request(AsyncFd& signals) {
  signalfd_siginfo info{};
  auto read = co_await signals.read_some({reinterpret_cast<char*>(&info), sizeof info});
  co_return read ? static_cast<int>(info.ssi_signo) : SIGTERM;
}

struct World {
  RealDriver driver;
  Loop loop{driver};
  Processes processes{loop, driver};
};

struct Looked {
  std::optional<Result<HostReport>> host;
  int signal = 0;  // instead
};

Task<Looked> look_or_end(World& world, AsyncFd& signals, HostProbe probe) {
  auto outcome = co_await race(probe_host(world.loop, world.processes, std::move(probe)),
                               end_request(signals));
  Looked looked;
  if (auto* host = outcome.first()) looked.host = std::move(*host);
  if (auto* signal = outcome.second()) looked.signal = *signal;
  // A child that hangs in the kernel cannot be killed: it is not waited for any longer.
  constexpr Duration kPatience = std::chrono::seconds(1);
  auto drained = co_await with_timeout(world.loop, kPatience, world.processes.drain());
  (void)drained;
  co_return looked;
}

std::function<void(std::span<const std::string>, std::size_t)> reporter(ProgressLine& line) {
  return [&line](std::span<const std::string> awaited, std::size_t total) {
    if (awaited.empty()) return line.show({});
    line.show(fmt::format("checking this host: {} of {}, waiting for {}", total - awaited.size(),
                          total,
                          join(awaited.first(std::min<std::size_t>(awaited.size(), 2)), ", ")));
  };
}

}  // namespace

Result<HostReport> look_at_host(HostProbe probe) {
  Looked looked;
  {
    ProgressLine line;
    probe.on_progress = reporter(line);
    EndRequests requests;
    auto world = std::make_unique<World>();
    {
      auto signals = TRY(requests.open(world->loop, world->driver));
      looked = world->loop.run(look_or_end(*world, *signals, std::move(probe)));
    }
    // With a child that cannot be killed, the world cannot be taken down without waiting for it. It
    // is left standing to the end of the process, which takes the child along as far as possible.
    static World* left_standing = nullptr;
    if (world->processes.alive() > 0) left_standing = world.release();
    (void)left_standing;
  }
  if (looked.signal != 0) {
    ::raise(looked.signal);  // so that our parent sees what ended us
    ::_exit(128 + looked.signal);
  }
  return std::move(*looked.host);
}

}  // namespace specgen
