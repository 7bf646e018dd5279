#include "kvcache/client/specgen_kv.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "kvcache/shm_protocol.h"

// This file is a library of its own: of the project it uses the protocol only.

namespace {

using specgen::shm::Hello;
using specgen::shm::Operation;
using specgen::shm::Reply;
using specgen::shm::Request;
using specgen::shm::Status;

constexpr std::size_t kGrain = 4096;        // alignment of reserved memory, as devices prefer
constexpr std::size_t kMaxInFlight = 1024;  // so that replies always fit into the socket

// The free and taken ranges of the arena: first fit, adjacent free ranges joined.
class ArenaSpace {
 public:
  explicit ArenaSpace(std::size_t bytes) { free_[0] = bytes; }

  bool take(std::size_t bytes, std::size_t& offset) {
    bytes = std::max(kGrain, (bytes + kGrain - 1) / kGrain * kGrain);
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      if (place->second < bytes) continue;
      offset = place->first;
      std::size_t left = place->second - bytes;
      free_.erase(place);
      if (left > 0) free_[offset + bytes] = left;
      taken_[offset] = bytes;
      return true;
    }
    return false;
  }

  void give(std::size_t offset) {
    auto mine = taken_.find(offset);
    if (mine == taken_.end()) return;
    std::size_t bytes = mine->second;
    taken_.erase(mine);
    auto after = free_.lower_bound(offset);
    if (after != free_.end() && after->first == offset + bytes) {
      bytes += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }

  // Whether these bytes are inside one taken range.
  bool holds(std::size_t offset, std::size_t bytes) const {
    auto after = taken_.upper_bound(offset);
    if (after == taken_.begin()) return false;
    auto taken = std::prev(after);
    std::size_t end = taken->first + taken->second;
    return offset < end && bytes <= end - offset;
  }

 private:
  std::map<std::size_t, std::size_t> free_, taken_;  // offset -> bytes
};

struct Job {
  specgen_kv_request request;  // its key is stored below
  std::string key;
  std::size_t offset = 0;
  bool borrowed = false;    // a range taken by the library, to be released
  bool is_awaited = false;  // a blocking call takes its completion
};

bool has_value(int op) {
  return op == SPECGEN_KV_OP_GET || op == SPECGEN_KV_OP_PUT;
}

}  // namespace

struct specgen_kv {
  int socket = -1;
  int memory = -1;
  char* arena = nullptr;
  std::size_t bytes = 0;
  int timeout_ms = 0;
  bool gone = false;
  std::mutex mutex;
  ArenaSpace space{0};
  std::deque<Job> waiting;                 // for memory, or for the socket
  std::map<std::uint64_t, Job> in_flight;  // by id: replies come in any order
  std::deque<specgen_kv_completion> done;
  std::optional<specgen_kv_completion> awaited;
  std::uint64_t last_id = 0;  // of the last request sent

  ~specgen_kv() {
    if (arena) ::munmap(arena, bytes);
    if (memory >= 0) ::close(memory);
    if (socket >= 0) ::close(socket);
  }

  bool in_arena(const void* at) const {
    auto* place = static_cast<const char*>(at);
    return place >= arena && place < arena + bytes;
  }

  bool is_good(const specgen_kv_request& request) const {
    if (!request.key || request.key_bytes == 0 || request.key_bytes > specgen::shm::kMaxKeyBytes)
      return false;
    if (request.op < SPECGEN_KV_OP_GET || request.op > SPECGEN_KV_OP_DELETE) return false;
    if (!has_value(request.op)) return true;
    if (request.bytes > bytes || request.bytes > specgen::shm::kMaxValueBytes) return false;
    if (!request.buffer) return request.bytes == 0;
    if (!in_arena(request.buffer)) return true;
    return space.holds(static_cast<std::size_t>(static_cast<char*>(request.buffer) - arena),
                       request.bytes);
  }

  void complete(Job& job, int status, std::uint64_t value_bytes = 0) {
    if (job.borrowed) space.give(job.offset);
    specgen_kv_completion completion{job.request.tag, status, value_bytes};
    if (job.is_awaited) {
      awaited = completion;
    } else {
      done.push_back(completion);
    }
  }

  void lose() {
    gone = true;
    for (auto& [id, job] : in_flight) complete(job, SPECGEN_KV_GONE);
    for (Job& job : waiting) complete(job, SPECGEN_KV_GONE);
    in_flight.clear();
    waiting.clear();
  }

  // Sends requests that have memory and fit into the socket.
  void pump() {
    while (!gone && !waiting.empty() && in_flight.size() < kMaxInFlight) {
      Job& job = waiting.front();
      if (has_value(job.request.op) && !job.borrowed) {
        if (in_arena(job.request.buffer)) {
          job.offset = static_cast<std::size_t>(static_cast<char*>(job.request.buffer) - arena);
        } else {
          if (!space.take(job.request.bytes, job.offset)) {
            if (in_flight
                    .empty()) {  // no range will be released: the caller has reserved everything
              complete(job, SPECGEN_KV_BAD);
              waiting.pop_front();
              continue;
            }
            return;
          }
          job.borrowed = true;
          if (job.request.op == SPECGEN_KV_OP_PUT && job.request.bytes > 0) {
            std::memcpy(arena + job.offset, job.request.buffer, job.request.bytes);
          }
        }
      }
      if (!send_one(job)) return;
      in_flight.emplace(last_id, std::move(job));
      waiting.pop_front();
    }
  }

  bool send_one(const Job& job) {
    Request request{.id = last_id + 1,
                    .operation = static_cast<Operation>(job.request.op),
                    .key_bytes = static_cast<std::uint32_t>(job.key.size()),
                    .offset = job.offset,
                    .bytes = job.request.bytes};
    iovec parts[2] = {{&request, sizeof request},
                      {const_cast<char*>(job.key.data()), job.key.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    while (true) {
      ssize_t n = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        ++last_id;
        return true;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) lose();
      return false;
    }
  }

  // Takes all replies received so far.
  void take_answers() {
    while (!gone && !in_flight.empty()) {
      Reply reply;
      ssize_t n = ::recv(socket, &reply, sizeof reply, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      auto answered = n == sizeof reply ? in_flight.find(reply.id) : in_flight.end();
      if (answered == in_flight.end()) return lose();
      Job job = std::move(answered->second);
      in_flight.erase(answered);
      int status = reply.status == Status::ok          ? SPECGEN_KV_OK
                   : reply.status == Status::too_small ? SPECGEN_KV_TOO_SMALL
                                                       : SPECGEN_KV_MISS;
      bool came = status == SPECGEN_KV_OK && job.request.op == SPECGEN_KV_OP_GET;
      if (came && reply.bytes > job.request.bytes) return complete(job, SPECGEN_KV_GONE), lose();
      if (came && job.borrowed) std::memcpy(job.request.buffer, arena + job.offset, reply.bytes);
      complete(job, status, reply.bytes);
    }
  }

  void notice_the_end() {
    char nothing;
    if (!gone && in_flight.empty() && ::recv(socket, &nothing, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
      lose();
  }

  // One blocking request. Completions of other pending requests stay for drain().
  specgen_kv_completion finish(specgen_kv_request request) {
    std::lock_guard lock(mutex);
    if (gone) return {request.tag, SPECGEN_KV_GONE, 0};
    if (!is_good(request)) return {request.tag, SPECGEN_KV_BAD, 0};
    awaited.reset();
    waiting.push_back({.request = request,
                       .key = std::string(request.key, request.key_bytes),
                       .is_awaited = true});
    while (true) {
      pump();
      take_answers();
      if (awaited) return *awaited;
      pollfd readable{.fd = socket, .events = POLLIN, .revents = 0};
      int ready = ::poll(&readable, 1, timeout_ms);
      // The node hangs and may still write into the arena, which must not be used again.
      if (ready == 0 || (ready < 0 && errno != EINTR)) lose();
    }
  }
};

namespace {

void explain(char* error, std::size_t bytes, const char* what, int number) {
  if (error && bytes > 0)
    std::snprintf(error, bytes, "%s%s%s", what, number ? ": " : "",
                  number ? std::strerror(number) : "");
}

bool make_arena(specgen_kv& kv, std::size_t bytes) {
  kv.memory = ::memfd_create("specgen-kv", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (kv.memory < 0 || ::ftruncate(kv.memory, static_cast<off_t>(bytes)) != 0) return false;
  if (::fcntl(kv.memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return false;
  void* at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, kv.memory, 0);
  if (at == MAP_FAILED) return false;
  kv.arena = static_cast<char*>(at);
  kv.bytes = bytes;
  return true;
}

bool connect_to(specgen_kv& kv, const char* path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::size_t length = std::strlen(path);
  if (length == 0 || length >= sizeof name.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(name.sun_path, path, length);
  kv.socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  return kv.socket >= 0 &&
         ::connect(kv.socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

bool send_hello(specgen_kv& kv) {
  Hello hello;
  hello.arena_bytes = kv.bytes;
  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &kv.memory, sizeof(int));
  if (::sendmsg(kv.socket, &message, MSG_NOSIGNAL) != sizeof hello) return false;
  pollfd readable{.fd = kv.socket, .events = POLLIN, .revents = 0};
  errno = ETIMEDOUT;
  if (::poll(&readable, 1, kv.timeout_ms) != 1) return false;
  Reply reply;
  errno = ECONNREFUSED;  // reported if the node closes or refuses
  return ::recv(kv.socket, &reply, sizeof reply, 0) == sizeof reply && reply.status == Status::ok;
}

}  // namespace

specgen_kv* specgen_kv_open(const char* socket_path, size_t arena_bytes, int timeout_ms,
                            char* error, size_t error_bytes) {
  auto* kv = new (std::nothrow) specgen_kv;
  if (!kv || !socket_path || arena_bytes == 0) {
    explain(error, error_bytes, "no path or no arena", 0);
    delete kv;
    return nullptr;
  }
  kv->timeout_ms = timeout_ms > 0 ? timeout_ms : 5000;
  arena_bytes = (arena_bytes + kGrain - 1) / kGrain * kGrain;
  const char* failed = nullptr;
  if (!connect_to(*kv, socket_path)) {
    failed = "connect to the node";
  } else if (!make_arena(*kv, arena_bytes)) {
    failed = "make the arena";
  } else if (!send_hello(*kv)) {
    failed = "the node refused the arena";
  }
  if (failed) {
    explain(error, error_bytes, failed, errno);
    delete kv;
    return nullptr;
  }
  kv->space = ArenaSpace(arena_bytes);
  return kv;
}

void specgen_kv_close(specgen_kv* kv) {
  delete kv;
}

void* specgen_kv_arena(const specgen_kv* kv) {
  return kv->arena;
}

size_t specgen_kv_arena_bytes(const specgen_kv* kv) {
  return kv->bytes;
}

void* specgen_kv_reserve(specgen_kv* kv, size_t bytes) {
  std::lock_guard lock(kv->mutex);
  std::size_t offset = 0;
  return bytes <= kv->bytes && kv->space.take(bytes, offset) ? kv->arena + offset : nullptr;
}

void specgen_kv_release(specgen_kv* kv, void* buffer) {
  if (!buffer) return;
  std::lock_guard lock(kv->mutex);
  kv->space.give(static_cast<std::size_t>(static_cast<char*>(buffer) - kv->arena));
}

int64_t specgen_kv_get(specgen_kv* kv, const char* key, size_t key_bytes, void* buffer,
                       size_t bytes) {
  specgen_kv_completion done = kv->finish({0, SPECGEN_KV_OP_GET, key, key_bytes, buffer, bytes});
  return done.status == SPECGEN_KV_OK ? static_cast<int64_t>(done.bytes) : done.status;
}

int specgen_kv_put(specgen_kv* kv, const char* key, size_t key_bytes, const void* value,
                   size_t bytes) {
  return kv->finish({0, SPECGEN_KV_OP_PUT, key, key_bytes, const_cast<void*>(value), bytes}).status;
}

int specgen_kv_exists(specgen_kv* kv, const char* key, size_t key_bytes) {
  int status = kv->finish({0, SPECGEN_KV_OP_EXISTS, key, key_bytes, nullptr, 0}).status;
  return status == SPECGEN_KV_OK ? 1 : status == SPECGEN_KV_MISS ? 0 : status;
}

int specgen_kv_delete(specgen_kv* kv, const char* key, size_t key_bytes) {
  int status = kv->finish({0, SPECGEN_KV_OP_DELETE, key, key_bytes, nullptr, 0}).status;
  return status == SPECGEN_KV_OK ? 1 : status == SPECGEN_KV_MISS ? 0 : status;
}

int specgen_kv_submit(specgen_kv* kv, const specgen_kv_request* requests, size_t count) {
  std::lock_guard lock(kv->mutex);
  if (kv->gone) return SPECGEN_KV_GONE;
  for (size_t i = 0; i < count; ++i) {
    if (!kv->is_good(requests[i])) return SPECGEN_KV_BAD;
  }
  for (size_t i = 0; i < count; ++i) {
    kv->waiting.push_back({requests[i], std::string(requests[i].key, requests[i].key_bytes)});
  }
  kv->pump();
  return SPECGEN_KV_OK;
}

int specgen_kv_event_fd(const specgen_kv* kv) {
  return kv->socket;
}

int specgen_kv_drain(specgen_kv* kv, specgen_kv_completion* completions, size_t max) {
  std::lock_guard lock(kv->mutex);
  kv->take_answers();
  kv->notice_the_end();
  kv->pump();
  std::size_t count = std::min(max, kv->done.size());
  std::copy_n(kv->done.begin(), count, completions);
  kv->done.erase(kv->done.begin(), kv->done.begin() + static_cast<std::ptrdiff_t>(count));
  if (count == 0 && kv->gone) return SPECGEN_KV_GONE;
  return static_cast<int>(count);
}
