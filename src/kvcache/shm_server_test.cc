// Both ends of the shared-memory transport: the server, and the client library. Hostile clients send their messages
// directly over the socket.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "kvcache/client/specgen_kv.h"
#include "kvcache/shm_protocol.h"
#include "kvcache/shm_server.h"

namespace specgen {
namespace {

constexpr std::size_t kArena = 16 << 20;

std::string random_bytes(std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::string value(bytes, '\0');
  for (char& c : value) c = static_cast<char>(random.next());
  return value;
}

struct Node {
  TemporaryFolder folder = TemporaryFolder::make().value();
  std::unique_ptr<KvStore> store =
      KvStore::open({.host = MiB(256), .drain = MiB(16), .ready_at_open = MiB(192)}).value();
  std::string path = (folder.path() / "shm").string();
  std::unique_ptr<ShmServer> server;

  explicit Node(ShmLimits limits = {}) { server = ShmServer::open(*store, path, limits).value(); }
};

struct Closer {
  void operator()(specgen_kv* kv) const { specgen_kv_close(kv); }
};
using Handle = std::unique_ptr<specgen_kv, Closer>;

Handle open_client(const Node& node, std::size_t arena = kArena) {
  char error[200] = "";
  Handle kv(specgen_kv_open(node.path.c_str(), arena, 5000, error, sizeof error));
  EXPECT_TRUE(kv) << error;
  return kv;
}

int put(const Handle& kv, std::string_view key, std::string_view value) {
  return specgen_kv_put(kv.get(), key.data(), key.size(), value.data(), value.size());
}

std::int64_t get(const Handle& kv, std::string_view key, std::string& buffer) {
  return specgen_kv_get(kv.get(), key.data(), key.size(), buffer.data(), buffer.size());
}

TEST(ShmServer, returns_the_values_that_were_put) {
  Node node;
  Handle kv = open_client(node);
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{3'000'001}}) {
    std::string key = "k" + std::to_string(bytes), value = random_bytes(bytes, bytes + 1),
                buffer(bytes, '\0');
    EXPECT_EQ(put(kv, key, value), SPECGEN_KV_OK);
    EXPECT_EQ(get(kv, key, buffer), static_cast<std::int64_t>(bytes));
    EXPECT_EQ(buffer, value);
  }
}

TEST(ShmServer, reports_a_miss_and_a_buffer_that_is_too_small) {
  Node node;
  Handle kv = open_client(node);
  std::string buffer(100, 'x');
  EXPECT_EQ(get(kv, "nothing", buffer), SPECGEN_KV_MISS);
  EXPECT_EQ(put(kv, "k", random_bytes(200, 1)), SPECGEN_KV_OK);
  EXPECT_EQ(get(kv, "k", buffer), SPECGEN_KV_TOO_SMALL);
  EXPECT_EQ(buffer, std::string(100, 'x'));
  EXPECT_EQ(specgen_kv_exists(kv.get(), "k", 1), 1);
  EXPECT_EQ(specgen_kv_delete(kv.get(), "k", 1), 1);
  EXPECT_EQ(specgen_kv_exists(kv.get(), "k", 1), 0);
  EXPECT_EQ(specgen_kv_delete(kv.get(), "k", 1), 0);
}

TEST(ShmServer, reserved_memory_is_used_in_place) {
  Node node;
  Handle kv = open_client(node);
  std::string value = random_bytes(1 << 20, 7);
  char* buffer = static_cast<char*>(specgen_kv_reserve(kv.get(), value.size()));
  ASSERT_TRUE(buffer);
  auto* arena = static_cast<char*>(specgen_kv_arena(kv.get()));
  EXPECT_GE(buffer, arena);
  EXPECT_LE(buffer + value.size(), arena + specgen_kv_arena_bytes(kv.get()));
  std::memcpy(buffer, value.data(), value.size());
  EXPECT_EQ(specgen_kv_put(kv.get(), "k", 1, buffer, value.size()), SPECGEN_KV_OK);
  std::memset(buffer, 0, value.size());
  EXPECT_EQ(specgen_kv_get(kv.get(), "k", 1, buffer, value.size()),
            static_cast<std::int64_t>(value.size()));
  EXPECT_EQ(std::memcmp(buffer, value.data(), value.size()), 0);
  // Memory of the arena that is not reserved may be in use by another request.
  specgen_kv_release(kv.get(), buffer);
  EXPECT_EQ(specgen_kv_get(kv.get(), "k", 1, buffer, value.size()), SPECGEN_KV_BAD);
}

TEST(ShmServer, reserved_ranges_do_not_overlap_and_can_be_released) {
  Node node;
  Handle kv = open_client(node);
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> buffers;
    while (void* buffer = specgen_kv_reserve(kv.get(), 1 << 20)) buffers.push_back(buffer);
    EXPECT_EQ(buffers.size(), kArena >> 20);
    std::ranges::sort(buffers);
    for (std::size_t i = 1; i < buffers.size(); ++i) {
      EXPECT_GE(static_cast<char*>(buffers[i]) - static_cast<char*>(buffers[i - 1]), 1 << 20);
    }
    // A put that needs memory of the arena finds none.
    EXPECT_EQ(put(kv, "k", "value"), SPECGEN_KV_BAD);
    for (void* buffer : buffers) specgen_kv_release(kv.get(), buffer);
    EXPECT_EQ(put(kv, "k", "value"), SPECGEN_KV_OK);
  }
}

struct Chunks {
  Chunks(std::size_t count, std::size_t bytes) : buffers(count, std::string(bytes, '\0')) {
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back("chunk" + std::to_string(i));
      values.push_back(random_bytes(bytes, i));
    }
  }
  std::vector<specgen_kv_request> requests(int operation) {
    std::vector<specgen_kv_request> made;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::string& buffer = operation == SPECGEN_KV_OP_PUT ? values[i] : buffers[i];
      made.push_back({i, operation, keys[i].data(), keys[i].size(), buffer.data(), buffer.size()});
    }
    return made;
  }
  std::vector<std::string> keys, values, buffers;
};

// By tag.
std::map<std::uint64_t, specgen_kv_completion> done_in(
    const Handle& kv, const std::vector<specgen_kv_request>& requests) {
  std::map<std::uint64_t, specgen_kv_completion> done;
  EXPECT_EQ(specgen_kv_submit(kv.get(), requests.data(), requests.size()), SPECGEN_KV_OK);
  while (done.size() < requests.size()) {
    pollfd ready{.fd = specgen_kv_event_fd(kv.get()), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 5000) != 1) break;
    specgen_kv_completion some[7];
    int n = 0;
    while ((n = specgen_kv_drain(kv.get(), some, 7)) > 0) {
      for (int i = 0; i < n; ++i) EXPECT_TRUE(done.emplace(some[i].tag, some[i]).second);
    }
    if (n < 0) break;
  }
  return done;
}

TEST(ShmServer, a_batch_may_be_larger_than_the_arena) {
  Node node;
  Handle kv = open_client(node, 4 << 20);
  constexpr std::size_t kValues = 40, kBytes = 1 << 20;
  Chunks chunks(kValues, kBytes);
  EXPECT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_PUT)).size(), kValues);
  auto done = done_in(kv, chunks.requests(SPECGEN_KV_OP_GET));
  ASSERT_EQ(done.size(), kValues);
  for (std::size_t i = 0; i < kValues; ++i) {
    EXPECT_EQ(done[i].status, SPECGEN_KV_OK);
    EXPECT_EQ(done[i].bytes, kBytes);
    EXPECT_TRUE(chunks.buffers[i] == chunks.values[i]) << i;
  }
}

// A node with four threads and a client that has stored values there.
class FilledShmServer : public testing::Test {
 protected:
  static constexpr std::size_t kValues = 16, kBytes = 2 << 20;
  void SetUp() override {
    ASSERT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_PUT)).size(), kValues);
  }

  Node node{{.threads = 4}};
  Handle kv = open_client(node, 64 << 20);
  Chunks chunks{kValues, kBytes};
};

TEST_F(FilledShmServer, idle_threads_help_with_the_requests_of_one_client) {
  EXPECT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_GET)).size(), kValues);
  EXPECT_TRUE(chunks.buffers == chunks.values);
  EXPECT_GT(node.server->counters().helped.load(), 0u);
}

TEST_F(FilledShmServer, a_blocking_call_gets_its_own_reply_despite_pending_requests) {
  auto gets = chunks.requests(SPECGEN_KV_OP_GET);
  ASSERT_EQ(specgen_kv_submit(kv.get(), gets.data(), gets.size()), SPECGEN_KV_OK);
  EXPECT_EQ(specgen_kv_exists(kv.get(), "nothing", 7), 0);
  std::string buffer(kBytes, '\0');
  EXPECT_EQ(get(kv, chunks.keys[3], buffer), static_cast<std::int64_t>(kBytes));
  EXPECT_TRUE(buffer == chunks.values[3]);
  for (std::size_t left = kValues; left > 0;) {  // the completions of the batch are all pending
    specgen_kv_completion some[7];
    pollfd ready{.fd = specgen_kv_event_fd(kv.get()), .events = POLLIN, .revents = 0};
    int n = specgen_kv_drain(kv.get(), some, 7);
    ASSERT_GE(n, 0);
    left -= static_cast<std::size_t>(n);
    if (n == 0) ASSERT_EQ(::poll(&ready, 1, 5000), 1);
  }
  EXPECT_TRUE(chunks.buffers == chunks.values);
}

TEST(ShmServer, a_client_may_disconnect_while_several_threads_copy_for_it) {
  Node node({.threads = 4});
  constexpr std::size_t kValues = 16, kBytes = 2 << 20;
  Chunks chunks(kValues, kBytes);
  {
    Handle kv = open_client(node);
    EXPECT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_PUT)).size(), kValues);
  }
  auto gets = chunks.requests(SPECGEN_KV_OP_GET);
  for (int i = 0; i < 10; ++i) {
    Handle leaving = open_client(node);
    ASSERT_EQ(specgen_kv_submit(leaving.get(), gets.data(), gets.size()), SPECGEN_KV_OK);
  }
  Handle kv = open_client(node);
  auto done = done_in(kv, gets);
  for (std::size_t i = 0; i < kValues; ++i) EXPECT_TRUE(chunks.buffers[i] == chunks.values[i]) << i;
}

TEST(ShmServer, a_batch_with_an_invalid_request_is_refused) {
  Node node;
  Handle kv = open_client(node);
  std::string value = "value";
  specgen_kv_request requests[2] = {{1, SPECGEN_KV_OP_PUT, "k", 1, value.data(), value.size()},
                                    {2, SPECGEN_KV_OP_GET, "k", 1, value.data(), kArena + 1}};
  EXPECT_EQ(specgen_kv_submit(kv.get(), requests, 2), SPECGEN_KV_BAD);
  EXPECT_EQ(specgen_kv_exists(kv.get(), "k", 1), 0);
  std::string long_key(shm::kMaxKeyBytes + 1, 'k');
  EXPECT_EQ(put(kv, long_key, value), SPECGEN_KV_BAD);
  EXPECT_EQ(put(kv, "", value), SPECGEN_KV_BAD);
}

TEST(ShmServer, the_end_of_a_node_is_reported_and_its_successor_can_be_opened) {
  Node node;
  Handle kv = open_client(node);
  EXPECT_EQ(put(kv, "k", "value"), SPECGEN_KV_OK);
  node.server.reset();
  std::string buffer(5, '\0');
  EXPECT_EQ(get(kv, "k", buffer), SPECGEN_KV_GONE);
  EXPECT_EQ(put(kv, "k2", "value"), SPECGEN_KV_GONE);
  specgen_kv_completion none[1];
  EXPECT_EQ(specgen_kv_drain(kv.get(), none, 1), SPECGEN_KV_GONE);
  char error[200] = "";
  EXPECT_FALSE(specgen_kv_open(node.path.c_str(), kArena, 1000, error, sizeof error));
  EXPECT_NE(std::string(error), "");
  node.server = ShmServer::open(*node.store, node.path).value();
  kv = open_client(node);
  EXPECT_EQ(get(kv, "k", buffer), 5);
  EXPECT_EQ(buffer, "value");
}

TEST(ShmServer, pending_requests_complete_when_the_node_ends) {
  Node node;
  Handle kv = open_client(node, 4 << 20);
  std::string value = random_bytes(1 << 20, 3);
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.push_back("k" + std::to_string(i));
  std::vector<specgen_kv_request> puts;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    puts.push_back(
        {i, SPECGEN_KV_OP_PUT, keys[i].data(), keys[i].size(), value.data(), value.size()});
  }
  ASSERT_EQ(specgen_kv_submit(kv.get(), puts.data(), puts.size()), SPECGEN_KV_OK);
  node.server.reset();
  std::size_t completed = 0, gone = 0;
  specgen_kv_completion some[16];
  for (int n = 0; (n = specgen_kv_drain(kv.get(), some, 16)) != SPECGEN_KV_GONE;) {
    for (int i = 0; i < n; ++i) gone += some[i].status == SPECGEN_KV_GONE;
    completed += static_cast<std::size_t>(n);
    ASSERT_LE(completed, keys.size());
  }
  EXPECT_EQ(completed, keys.size());
  EXPECT_GT(gone, 0U);
}

TEST(ShmServer, a_path_has_one_node_and_a_leftover_socket_is_replaced) {
  Node node;
  auto second = ShmServer::open(*node.store, node.path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::address_in_use);
  // As left by a killed node: bound, but not listening.
  std::string left = (node.folder.path() / "left").string();
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  left.copy(name.sun_path, left.size());
  {
    Fd dead(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }
  EXPECT_TRUE(ShmServer::open(*node.store, left));
}

// Sends arbitrary messages over the socket.
class Hostile {
 public:
  explicit Hostile(const Node& node) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    node.path.copy(name.sun_path, node.path.size());
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }

  void say_bytes(const void* bytes, std::size_t size, int descriptor = -1) {
    iovec part{const_cast<void*>(bytes), size};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      *header = {
          .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  }
  template <class Plain>
  void send(const Plain& plain, int descriptor = -1) {
    say_bytes(&plain, sizeof plain, descriptor);
  }
  void ask(shm::Request request, std::string_view key) {
    std::string message(reinterpret_cast<const char*>(&request), sizeof request);
    message += key;
    say_bytes(message.data(), message.size());
  }
  // Nothing: the node has closed.
  std::optional<shm::Reply> receive() {
    shm::Reply reply;
    ssize_t n = ::recv(socket_.get(), &reply, sizeof reply, 0);
    if (n != sizeof reply) return std::nullopt;
    return reply;
  }

 private:
  Fd socket_;
};

Fd memory_of(std::size_t bytes, unsigned seals) {
  Fd memory(::memfd_create("test", MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
  return memory;
}

TEST(ShmServerHostile, memory_that_could_kill_the_node_is_refused) {
  Node node({.arena = MiB(64)});
  struct Offer {
    std::size_t real_bytes;
    unsigned seals;
    std::uint64_t declared_bytes;
  };
  for (Offer offer : {Offer{1 << 20, 0, 1 << 20},                  // could shrink
                      Offer{1 << 20, F_SEAL_SHRINK, 2 << 20},      // smaller than declared
                      Offer{1 << 20, F_SEAL_SHRINK, 0},            //
                      Offer{1 << 20, F_SEAL_SHRINK, ~0ULL},        //
                      Offer{128 << 20, F_SEAL_SHRINK, 128 << 20},  // over the limit
                      Offer{1 << 20, F_SEAL_SHRINK | F_SEAL_WRITE, 1 << 20}}) {
    Hostile client(node);
    Fd memory = memory_of(offer.real_bytes, offer.seals);
    client.send(shm::Hello{.arena_bytes = offer.declared_bytes}, memory.get());
    auto reply = client.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, shm::Status::refused);
    EXPECT_FALSE(client.receive());
  }
  Hostile with_nothing(node);
  with_nothing.send(shm::Hello{.arena_bytes = 4096});
  EXPECT_EQ(with_nothing.receive()->status, shm::Status::refused);
  Hostile with_a_pipe(node);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Fd one(ends[0]), other(ends[1]);
  with_a_pipe.send(shm::Hello{.arena_bytes = 4096}, one.get());
  EXPECT_EQ(with_a_pipe.receive()->status, shm::Status::refused);
  Hostile with_huge_pages(node);
  Fd huge(::memfd_create("test", MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (huge) {
    EXPECT_EQ(::ftruncate(huge.get(), 2 << 20), 0);
    EXPECT_EQ(::fcntl(huge.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    with_huge_pages.send(shm::Hello{.arena_bytes = 2 << 20}, huge.get());
    EXPECT_EQ(with_huge_pages.receive()->status, shm::Status::refused);
  }
  Handle honest = open_client(node);
  EXPECT_EQ(put(honest, "k", "value"), SPECGEN_KV_OK);
}

TEST(ShmServerHostile, an_invalid_message_ends_only_its_connection) {
  Node node;
  Handle honest = open_client(node);
  ASSERT_EQ(put(honest, "k", "value"), SPECGEN_KV_OK);
  constexpr std::uint64_t kBytes = 1 << 20;
  const shm::Request good{
      .id = 1, .operation = shm::Operation::get, .key_bytes = 1, .offset = 0, .bytes = 100};
  auto with = [&](auto change) {
    shm::Request request = good;
    change(request);
    return request;
  };
  const std::vector<shm::Request> wrong{
      with([](auto& r) { r.offset = kBytes; }),
      with([](auto& r) { r.offset = kBytes - 50; }),
      with([](auto& r) { r.offset = ~0ULL - 49; }),
      with([](auto& r) { r.bytes = ~0ULL; }),
      with([](auto& r) { r.bytes = kBytes + 1; }),
      with([](auto& r) { r.operation = static_cast<shm::Operation>(9); }),
      with([](auto& r) { r.key_bytes = 0; }),
      with([](auto& r) { r.key_bytes = 2; }),
      with([](auto& r) { r.key_bytes = ~0U; }),
      with([](auto& r) { r.operation = shm::Operation::put, r.offset = kBytes - 99; }),
  };
  for (const shm::Request& request : wrong) {
    Hostile client(node);
    Fd memory = memory_of(kBytes, F_SEAL_SHRINK);
    client.send(shm::Hello{.arena_bytes = kBytes}, memory.get());
    ASSERT_EQ(client.receive()->status, shm::Status::ok);
    client.ask(good, "k");
    EXPECT_EQ(client.receive()->status, shm::Status::ok);
    client.ask(request, "k");
    EXPECT_FALSE(client.receive());
  }
  EXPECT_EQ(node.server->counters().violations, wrong.size());
  std::string buffer(5, '\0');
  EXPECT_EQ(get(honest, "k", buffer), 5);
}

TEST(ShmServerHostile, random_bytes_are_rejected) {
  Node node;
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    Hostile client(node);
    bool met = round % 2 == 0;
    Fd memory = memory_of(1 << 20, F_SEAL_SHRINK);
    if (met) client.send(shm::Hello{.arena_bytes = 1 << 20}, memory.get());
    if (met) ASSERT_EQ(client.receive()->status, shm::Status::ok);
    std::string noise = random_bytes(1 + random.below(6000), random.next());
    client.say_bytes(noise.data(), noise.size());
    EXPECT_FALSE(client.receive());
  }
  Handle honest = open_client(node);
  EXPECT_EQ(put(honest, "k", "value"), SPECGEN_KV_OK);
}

TEST(ShmServerHostile, clients_over_the_limit_are_refused_until_others_leave) {
  Node node({.clients = 2, .arenas = MiB(40)});
  Handle first = open_client(node), second = open_client(node);
  char error[200];
  EXPECT_FALSE(specgen_kv_open(node.path.c_str(), kArena, 5000, error, sizeof error));
  first.reset();
  // The node notices it asynchronously.
  for (int i = 0; i < 1000 && !first; ++i) {
    first.reset(specgen_kv_open(node.path.c_str(), kArena, 5000, error, sizeof error));
  }
  EXPECT_TRUE(first) << error;
}

}  // namespace
}  // namespace specgen
