#include "kvcache/shm_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "kvcache/shm_protocol.h"
#include "runtime/async_fd.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;  // between two pieces the store may reclaim pages
constexpr std::size_t kTurnPieces = 16;         // before other clients get their turn
constexpr std::size_t kTurnBytes = kTurnPieces * kPieceBytes;
constexpr std::size_t kTurnMessages = 8;
constexpr std::size_t kMaxMessage = sizeof(shm::Request) + shm::kMaxKeyBytes;

static_assert(shm::kMaxKeyBytes == kMaxKeyBytes && shm::kMaxValueBytes == kMaxValueBytes);

// The memory of a client, mapped here.
class Arena {
 public:
  Arena(char* at, std::size_t bytes) : at_(at), bytes_(bytes) {}
  Arena(const Arena&) = delete;
  ~Arena() { ::munmap(at_, bytes_); }

  // Null if the range is not inside.
  char* place(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= bytes_ && bytes <= bytes_ - offset ? at_ + offset : nullptr;
  }

 private:
  char* at_;
  std::size_t bytes_;
};

struct Message {
  std::array<char, kMaxMessage> bytes;
  std::size_t size = 0;
  Fd descriptor;  // the first one received; others are closed
};

// 1: a message; 0: the other end has closed; else -errno. -EMSGSIZE: a message longer than the protocol allows.
int receive(int fd, Message& message) {
  iovec part{message.bytes.data(), message.bytes.size()};
  constexpr std::size_t kDescriptors = 8;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptors * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t n = ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
  if (n < 0) return -errno;
  message.descriptor.reset();
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= each->cmsg_len; at += sizeof(int)) {
      int came = -1;
      std::memcpy(&came, reinterpret_cast<char*>(each) + at, sizeof came);
      Fd owned(came);
      if (!message.descriptor) message.descriptor = std::move(owned);
    }
  }
  if (header.msg_flags & MSG_TRUNC) return -EMSGSIZE;
  message.size = static_cast<std::size_t>(n);
  return n == 0 ? 0 : 1;
}

template <class Plain>
Plain read_plain(const Message& message) {
  Plain plain;
  std::memcpy(&plain, message.bytes.data(), sizeof plain);
  return plain;
}

std::string_view key_in(const Message& message) {
  std::string_view bytes(message.bytes.data(), message.size);
  return bytes.substr(std::min(bytes.size(), sizeof(shm::Request)));
}

// Why the memory of a client is refused; empty if it is accepted.
std::string_view fault_of(int memory, std::uint64_t bytes) {
  struct stat about{};
  if (memory < 0 || ::fstat(memory, &about) != 0) return "no memory was passed";
  int seals = ::fcntl(memory, F_GET_SEALS);
  // Without the seal it could shrink, and touching it would raise SIGBUS.
  if (seals < 0 || !(seals & F_SEAL_SHRINK)) return "the memory is not sealed against shrinking";
  // Huge pages of a pool can run out later, and touching them would raise SIGBUS too.
  struct statfs where{};
  if (::fstatfs(memory, &where) != 0 || where.f_type != TMPFS_MAGIC)
    return "the memory is not a plain memfd";
  if (about.st_size < 0 || static_cast<std::uint64_t>(about.st_size) < bytes)
    return "the memory is too small";
  return {};
}

Result<Fd> listen_on(const std::filesystem::path& socket) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::string path = socket.string();
  if (path.empty() || path.size() >= sizeof name.sun_path) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is too long for a socket", path));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  {
    Fd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (probe && ::connect(probe.get(), address, sizeof name) == 0) {
      return fail(ErrorCode::address_in_use, path, "another node serves it: choose another path");
    }
    struct stat about{};
    if (errno == ECONNREFUSED && ::lstat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode)) {
      ::unlink(path.c_str());
    }
  }
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("socket", errno);
  if (::bind(fd.get(), address, sizeof name) != 0) {
    return fail(ErrorCode::address_in_use, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  // Only for our user: a client can read all values.
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(fd.get(), 64) != 0) {
    return fail_errno(path, errno);
  }
  return fd;
}

}  // namespace

// One client, from its hello to its end. Its messages are taken by the thread it is assigned to and by threads that
// help; the last reference closes the socket.
class ShmConnection : public std::enable_shared_from_this<ShmConnection> {
 public:
  ShmConnection(ShmServer& server, Fd socket) : server_(server), socket_(std::move(socket)) {
    ++server_.clients_;
  }
  ShmConnection(const ShmConnection&) = delete;
  ~ShmConnection() {
    --server_.clients_;
    server_.arena_bytes_ -= arena_bytes_;
  }

  static Task<void> run(std::shared_ptr<ShmConnection> self, ClientThread here) {
    // A second descriptor: helpers may use the socket for longer than this thread.
    auto readable = AsyncFd::open(here.loop, here.driver, self->duplicate());
    if (readable) co_await self->serve(here, readable->get());
    ::shutdown(self->socket_.get(), SHUT_RDWR);
  }

 private:
  // Marks a thread as busy.
  class Busy {
   public:
    explicit Busy(std::atomic<int>& count) : count_(&count) { ++*count_; }
    // Succeeds only if the thread is idle.
    static std::optional<Busy> if_idle(std::atomic<int>& count) {
      int idle = 0;
      if (!count.compare_exchange_strong(idle, 1)) return std::nullopt;
      return Busy(&count);
    }
    Busy(Busy&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    ~Busy() {
      if (count_) --*count_;
    }

   private:
    explicit Busy(std::atomic<int>* counted) : count_(counted) {}
    std::atomic<int>* count_;
  };

  static Task<void> help(std::shared_ptr<ShmConnection> self, ClientThread here, Busy called) {
    {
      Busy until_begin = std::move(called);
    }
    ++self->server_.counters_.helped;
    co_await self->serve(here, nullptr);
  }

  struct Taken {
    Message message;
    std::string before;                       // the key of the previous message
    std::unique_ptr<KvStore::Writer> writer;  // for a put
  };

  // Until the client disconnects; without `readable`, until it has no pending requests.
  Task<void> serve(ClientThread here, AsyncFd* readable) {
    Taken taken;
    for (std::size_t messages = 1;; ++messages) {
      if (messages % kTurnMessages == 0) co_await here.loop.yield();
      int got = take(taken);
      if (got == -EINTR) continue;
      if (got == -EAGAIN) {
        if (!readable) co_return;
        co_await readable->wait_readable();
        continue;
      }
      bool is_good = got > 0;
      if (is_good) {
        std::optional<shm::Reply> reply = co_await answer(here, taken);
        is_good = reply && co_await send(here, *reply) && reply->status != shm::Status::refused;
        if (!reply) violation();
      }
      if (got == -EMSGSIZE) violation();
      if (is_good) continue;
      ::shutdown(socket_.get(), SHUT_RDWR);  // for all threads that take its messages
      co_return;
    }
  }

  void violation() {
    if (!has_violated_.exchange(true)) ++server_.counters_.violations;
  }

  // In order, whichever thread takes them: chains are learned from the order of keys, and writes are ordered by begin.
  int take(Taken& taken) {
    std::lock_guard lock(taking_);
    taken.writer.reset();
    int got = receive(socket_.get(), taken.message);
    if (got <= 0 || !arena_ || taken.message.size < sizeof(shm::Request)) return got;
    const std::string_view key = key_in(taken.message);
    taken.before = std::exchange(last_key_, std::string(key));
    auto request = read_plain<shm::Request>(taken.message);
    if (request.operation == shm::Operation::put) {
      taken.writer = server_.store_.write(key, request.bytes, taken.before);
    }
    return got;
  }

  // While this thread copies, an idle thread may take the next request.
  void request_help(ClientThread here) {
    int next = 0;
    if (::ioctl(socket_.get(), FIONREAD, &next) != 0 || next == 0) return;
    for (std::size_t other = 0; other < server_.busy_.size(); ++other) {
      if (other == here.number) continue;
      auto busy = Busy::if_idle(server_.busy_[other]);
      if (!busy) continue;
      here.all.run_on(
          other, [self = shared_from_this(), busy = std::move(*busy)](ClientThread there) mutable {
            return help(std::move(self), there, std::move(busy));
          });
      return;
    }
  }

  Fd duplicate() const { return Fd(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0)); }

  // Nothing: a violation of the protocol.
  Task<std::optional<shm::Reply>> answer(ClientThread here, Taken& taken) {
    Message& message = taken.message;
    if (!arena_) co_return co_await accept_hello(here.loop, message);
    if (message.size < sizeof(shm::Request) || message.descriptor) co_return std::nullopt;
    auto request = read_plain<shm::Request>(message);
    if (request.key_bytes == 0 || message.size - sizeof request != request.key_bytes)
      co_return std::nullopt;
    Busy busy(server_.busy_[here.number]);
    if (request.bytes >= kPieceBytes) request_help(here);
    std::string key(key_in(message));
    shm::Reply reply{.id = request.id};
    switch (request.operation) {
      case shm::Operation::get:
        if (!co_await get(here.loop, request, key, taken.before, reply)) co_return std::nullopt;
        break;
      case shm::Operation::put:
        if (!co_await put(here.loop, request, *taken.writer)) co_return std::nullopt;
        break;
      case shm::Operation::exists:
        if (!server_.store_.contains(key, taken.before)) reply.status = shm::Status::miss;
        break;
      case shm::Operation::remove:
        if (!server_.store_.remove(key)) reply.status = shm::Status::miss;
        break;
      default:
        co_return std::nullopt;
    }
    co_return reply;
  }

  Task<std::optional<shm::Reply>> accept_hello(Loop& loop, Message& message) {
    if (message.size != sizeof(shm::Hello)) co_return std::nullopt;
    auto hello = read_plain<shm::Hello>(message);
    if (hello.magic != shm::kMagic || hello.version != shm::kVersion) co_return std::nullopt;
    shm::Reply reply{.status = shm::Status::refused};
    bool fits = hello.arena_bytes > 0 && hello.arena_bytes <= server_.limits_.arena.count &&
                server_.clients_ <= server_.limits_.clients;
    if (fits && server_.arena_bytes_ + hello.arena_bytes > server_.limits_.arenas.count)
      fits = false;
    if (!fits || !fault_of(message.descriptor.get(), hello.arena_bytes).empty()) {
      ++server_.counters_.refused;
      co_return reply;
    }
    auto bytes = static_cast<std::size_t>(hello.arena_bytes);
    void* at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, message.descriptor.get(), 0);
    if (at == MAP_FAILED) {
      ++server_.counters_.refused;
      co_return reply;
    }
    arena_ = std::make_unique<Arena>(static_cast<char*>(at), bytes);
    server_.arena_bytes_ += bytes;
    arena_bytes_ = bytes;
    // Page faults now, not while copying; and a lack of memory shows here.
    for (std::size_t done = 0; done < bytes; done += kTurnBytes) {
      int failed = ::madvise(static_cast<char*>(at) + done, std::min(kTurnBytes, bytes - done),
                             MADV_POPULATE_WRITE);
      if (failed != 0 && errno != EINVAL &&
          errno != EINTR) {  // EINVAL: not supported by this kernel
        ++server_.counters_.refused;
        co_return reply;
      }
      co_await loop.yield();
    }
    ++server_.counters_.clients;
    reply.status = shm::Status::ok;
    co_return reply;
  }

  Task<bool> get(Loop& loop, const shm::Request& request, const std::string& key,
                 const std::string& before, shm::Reply& reply) {
    char* to = arena_->place(request.offset, request.bytes);
    if (!to) co_return false;
    ++server_.counters_.gets;
    std::unique_ptr<KvStore::Reader> reader = server_.store_.find(key, before);
    reply.status = shm::Status::miss;
    if (!reader) co_return true;
    reply.bytes = reader->bytes();
    if (reader->bytes() > request.bytes) {
      reply.status = shm::Status::too_small;
      co_return true;
    }
    // Checked while it is copied: the reply is sent only if all bytes match.
    auto verified = KvStore::Reader::Verified::not_yet;
    for (std::size_t pieces = 1; verified == KvStore::Reader::Verified::not_yet; ++pieces) {
      verified = reader->copy_some(to, kPieceBytes);
      // More turns than it has pieces: it is still coming from a device.
      if (pieces * kPieceBytes > 2 * reader->bytes() + kTurnBytes) {
        co_await loop.sleep(std::chrono::microseconds(100));
      } else if (pieces % kTurnPieces == 0) {
        co_await loop.yield();
      }
    }
    if (verified == KvStore::Reader::Verified::no) co_return true;
    server_.counters_.bytes_out += reader->bytes();
    reply.status = shm::Status::ok;
    co_return true;
  }

  Task<bool> put(Loop& loop, const shm::Request& request, KvStore::Writer& writer) {
    const char* from = arena_->place(request.offset, request.bytes);
    if (!from || request.bytes > shm::kMaxValueBytes) co_return false;
    ++server_.counters_.puts;
    for (std::size_t at = 0; writer.left() > 0;) {
      std::size_t taken = writer.for_piece(kPieceBytes, [&](std::span<char> target) {
        std::size_t n = std::min<std::size_t>(target.size(), request.bytes - at);
        std::memcpy(target.data(), from + at, n);
        return n;
      });
      if (at / kTurnBytes != (at + taken) / kTurnBytes) co_await loop.yield();
      at += taken;
    }
    writer.publish();
    server_.counters_.bytes_in += request.bytes;
    co_return true;
  }

  Task<bool> send(ClientThread here, shm::Reply reply) {
    std::unique_ptr<AsyncFd> writable;
    while (true) {
      ssize_t n = ::send(socket_.get(), &reply, sizeof reply, MSG_NOSIGNAL);
      if (n == sizeof reply) co_return true;
      if (n < 0 && errno == EINTR) continue;
      if (n >= 0 || errno != EAGAIN) co_return false;
      if (!writable) {  // the client does not read: rare
        auto opened = AsyncFd::open(here.loop, here.driver, duplicate());
        if (!opened) co_return false;
        writable = std::move(*opened);
      }
      co_await writable->wait_writable();
    }
  }

  ShmServer& server_;
  const Fd socket_;
  std::unique_ptr<Arena> arena_;  // set by the hello
  std::size_t arena_bytes_ = 0;
  std::atomic<bool> has_violated_ = false;
  std::mutex taking_;
  std::string last_key_;  // guarded by taking_
};

ShmServer::ShmServer(KvStore& store, std::filesystem::path socket, ShmLimits limits,
                     std::size_t threads)
    : store_(store), socket_(std::move(socket)), limits_(limits), busy_(threads) {}

Result<std::unique_ptr<ShmServer>> ShmServer::open(KvStore& store,
                                                   const std::filesystem::path& socket,
                                                   ShmLimits limits) {
  Fd listener = TRY(listen_on(socket));
  constexpr std::size_t kRefusedToo = 64;  // clients that get a refusal, which needs a connection
  constexpr std::size_t kMaxThreads = 16;
  const std::size_t cores = limits.cores.empty() ? allowed_cores().size() : limits.cores.size();
  const std::size_t threads =
      limits.threads > 0 ? limits.threads : std::clamp<std::size_t>(cores, 1, kMaxThreads);
  std::unique_ptr<ShmServer> server(new ShmServer(store, socket, limits, threads));
  server->threads_ = std::make_unique<ClientThreads>(
      std::move(listener), threads, limits.clients + kRefusedToo, limits.cores,
      [self = server.get()](ClientThread here, Fd fd) {
        return ShmConnection::run(std::make_shared<ShmConnection>(*self, std::move(fd)), here);
      });
  return server;
}

ShmServer::~ShmServer() {
  threads_.reset();
  std::error_code ignored;
  std::filesystem::remove(socket_, ignored);
}

}  // namespace specgen
