// The same-host lane, both ends: the node's, and the library that engines load. What a hostile client can do is said
// by hand over the socket.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "kvcache/client/specgen_kv.h"
#include "kvcache/lane_protocol.h"
#include "kvcache/lane_server.h"

namespace specgen {
namespace {

constexpr std::size_t kArena = 16 << 20;

std::string made_up(std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::string value(bytes, '\0');
  for (char& c : value) c = static_cast<char>(random.next());
  return value;
}

struct Node {
  TemporaryFolder folder = TemporaryFolder::make().value();
  std::unique_ptr<KvStore> store =
      KvStore::open({.host = MiB(256), .drain = MiB(16), .ready_at_open = MiB(192)}).value();
  std::string path = (folder.path() / "lane").string();
  std::unique_ptr<LaneServer> server;

  explicit Node(LaneLimits limits = {}) { server = LaneServer::open(*store, path, limits).value(); }
};

struct Closer {
  void operator()(specgen_kv* kv) const { specgen_kv_close(kv); }
};
using Handle = std::unique_ptr<specgen_kv, Closer>;

Handle open_lane(const Node& node, std::size_t arena = kArena) {
  char error[200] = "";
  Handle kv(specgen_kv_open(node.path.c_str(), arena, 5000, error, sizeof error));
  EXPECT_TRUE(kv) << error;
  return kv;
}

int put(const Handle& kv, std::string_view key, std::string_view value) {
  return specgen_kv_put(kv.get(), key.data(), key.size(), value.data(), value.size());
}

std::int64_t get(const Handle& kv, std::string_view key, std::string& room) {
  return specgen_kv_get(kv.get(), key.data(), key.size(), room.data(), room.size());
}

TEST(Lane, what_was_put_comes_back_the_same) {
  Node node;
  Handle kv = open_lane(node);
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{3'000'001}}) {
    std::string key = "k" + std::to_string(bytes), value = made_up(bytes, bytes + 1),
                room(bytes, '\0');
    EXPECT_EQ(put(kv, key, value), SPECGEN_KV_OK);
    EXPECT_EQ(get(kv, key, room), static_cast<std::int64_t>(bytes));
    EXPECT_EQ(room, value);
  }
}

TEST(Lane, a_miss_is_a_miss_and_a_small_room_is_told) {
  Node node;
  Handle kv = open_lane(node);
  std::string room(100, 'x');
  EXPECT_EQ(get(kv, "nothing", room), SPECGEN_KV_MISS);
  EXPECT_EQ(put(kv, "k", made_up(200, 1)), SPECGEN_KV_OK);
  EXPECT_EQ(get(kv, "k", room), SPECGEN_KV_TOO_SMALL);
  EXPECT_EQ(room, std::string(100, 'x'));
  EXPECT_EQ(specgen_kv_exists(kv.get(), "k", 1), 1);
  EXPECT_EQ(specgen_kv_delete(kv.get(), "k", 1), 1);
  EXPECT_EQ(specgen_kv_exists(kv.get(), "k", 1), 0);
  EXPECT_EQ(specgen_kv_delete(kv.get(), "k", 1), 0);
}

TEST(Lane, reserved_room_is_used_in_place) {
  Node node;
  Handle kv = open_lane(node);
  std::string value = made_up(1 << 20, 7);
  char* room = static_cast<char*>(specgen_kv_reserve(kv.get(), value.size()));
  ASSERT_TRUE(room);
  auto* arena = static_cast<char*>(specgen_kv_arena(kv.get()));
  EXPECT_GE(room, arena);
  EXPECT_LE(room + value.size(), arena + specgen_kv_arena_bytes(kv.get()));
  std::memcpy(room, value.data(), value.size());
  EXPECT_EQ(specgen_kv_put(kv.get(), "k", 1, room, value.size()), SPECGEN_KV_OK);
  std::memset(room, 0, value.size());
  EXPECT_EQ(specgen_kv_get(kv.get(), "k", 1, room, value.size()),
            static_cast<std::int64_t>(value.size()));
  EXPECT_EQ(std::memcmp(room, value.data(), value.size()), 0);
  // Room of the arena that nobody reserved could be another's.
  specgen_kv_release(kv.get(), room);
  EXPECT_EQ(specgen_kv_get(kv.get(), "k", 1, room, value.size()), SPECGEN_KV_BAD);
}

TEST(Lane, reserved_rooms_do_not_overlap_and_come_back) {
  Node node;
  Handle kv = open_lane(node);
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> rooms;
    while (void* room = specgen_kv_reserve(kv.get(), 1 << 20)) rooms.push_back(room);
    EXPECT_EQ(rooms.size(), kArena >> 20);
    std::ranges::sort(rooms);
    for (std::size_t i = 1; i < rooms.size(); ++i) {
      EXPECT_GE(static_cast<char*>(rooms[i]) - static_cast<char*>(rooms[i - 1]), 1 << 20);
    }
    // A put that needs the library's own room finds none.
    EXPECT_EQ(put(kv, "k", "value"), SPECGEN_KV_BAD);
    for (void* room : rooms) specgen_kv_release(kv.get(), room);
    EXPECT_EQ(put(kv, "k", "value"), SPECGEN_KV_OK);
  }
}

struct Chunks {
  Chunks(std::size_t count, std::size_t bytes) : rooms(count, std::string(bytes, '\0')) {
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back("chunk" + std::to_string(i));
      values.push_back(made_up(bytes, i));
    }
  }
  std::vector<specgen_kv_request> requests(int operation) {
    std::vector<specgen_kv_request> made;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::string& buffer = operation == SPECGEN_KV_OP_PUT ? values[i] : rooms[i];
      made.push_back({i, operation, keys[i].data(), keys[i].size(), buffer.data(), buffer.size()});
    }
    return made;
  }
  std::vector<std::string> keys, values, rooms;
};

// By tag.
std::map<std::uint64_t, specgen_kv_completion> done_in(
    const Handle& kv, const std::vector<specgen_kv_request>& requests) {
  std::map<std::uint64_t, specgen_kv_completion> done;
  EXPECT_EQ(specgen_kv_submit(kv.get(), requests.data(), requests.size()), SPECGEN_KV_OK);
  while (done.size() < requests.size()) {
    pollfd look{.fd = specgen_kv_event_fd(kv.get()), .events = POLLIN, .revents = 0};
    if (::poll(&look, 1, 5000) != 1) break;
    specgen_kv_completion some[7];
    int n = 0;
    while ((n = specgen_kv_drain(kv.get(), some, 7)) > 0) {
      for (int i = 0; i < n; ++i) EXPECT_TRUE(done.emplace(some[i].tag, some[i]).second);
    }
    if (n < 0) break;
  }
  return done;
}

TEST(Lane, a_batch_larger_than_the_arena_goes_through_it) {
  Node node;
  Handle kv = open_lane(node, 4 << 20);
  constexpr std::size_t kValues = 40, kBytes = 1 << 20;
  Chunks chunks(kValues, kBytes);
  EXPECT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_PUT)).size(), kValues);
  auto done = done_in(kv, chunks.requests(SPECGEN_KV_OP_GET));
  ASSERT_EQ(done.size(), kValues);
  for (std::size_t i = 0; i < kValues; ++i) {
    EXPECT_EQ(done[i].status, SPECGEN_KV_OK);
    EXPECT_EQ(done[i].bytes, kBytes);
    EXPECT_TRUE(chunks.rooms[i] == chunks.values[i]) << i;
  }
}

// A node of four threads, and a client that has stored something there.
class FilledLane : public testing::Test {
 protected:
  static constexpr std::size_t kValues = 16, kBytes = 2 << 20;
  void SetUp() override {
    ASSERT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_PUT)).size(), kValues);
  }

  Node node{{.threads = 4}};
  Handle kv = open_lane(node, 64 << 20);
  Chunks chunks{kValues, kBytes};
};

TEST_F(FilledLane, idle_threads_take_what_one_client_asks_for_at_once) {
  EXPECT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_GET)).size(), kValues);
  EXPECT_TRUE(chunks.rooms == chunks.values);
  EXPECT_GT(node.server->counters().helped.load(), 0u);
}

TEST_F(FilledLane, a_call_that_waits_gets_its_own_answer_whatever_is_under_way) {
  auto gets = chunks.requests(SPECGEN_KV_OP_GET);
  ASSERT_EQ(specgen_kv_submit(kv.get(), gets.data(), gets.size()), SPECGEN_KV_OK);
  EXPECT_EQ(specgen_kv_exists(kv.get(), "nothing", 7), 0);
  std::string room(kBytes, '\0');
  EXPECT_EQ(get(kv, chunks.keys[3], room), static_cast<std::int64_t>(kBytes));
  EXPECT_TRUE(room == chunks.values[3]);
  for (std::size_t left = kValues; left > 0;) {  // the batch's own are all still to come
    specgen_kv_completion some[7];
    pollfd look{.fd = specgen_kv_event_fd(kv.get()), .events = POLLIN, .revents = 0};
    int n = specgen_kv_drain(kv.get(), some, 7);
    ASSERT_GE(n, 0);
    left -= static_cast<std::size_t>(n);
    if (n == 0) ASSERT_EQ(::poll(&look, 1, 5000), 1);
  }
  EXPECT_TRUE(chunks.rooms == chunks.values);
}

TEST(Lane, a_client_that_goes_while_several_threads_copy_for_it_harms_nobody) {
  Node node({.threads = 4});
  constexpr std::size_t kValues = 16, kBytes = 2 << 20;
  Chunks chunks(kValues, kBytes);
  {
    Handle kv = open_lane(node);
    EXPECT_EQ(done_in(kv, chunks.requests(SPECGEN_KV_OP_PUT)).size(), kValues);
  }
  auto gets = chunks.requests(SPECGEN_KV_OP_GET);
  for (int i = 0; i < 10; ++i) {
    Handle leaving = open_lane(node);
    ASSERT_EQ(specgen_kv_submit(leaving.get(), gets.data(), gets.size()), SPECGEN_KV_OK);
  }
  Handle kv = open_lane(node);
  auto done = done_in(kv, gets);
  for (std::size_t i = 0; i < kValues; ++i) EXPECT_TRUE(chunks.rooms[i] == chunks.values[i]) << i;
}

TEST(Lane, a_batch_with_one_bad_request_is_not_begun) {
  Node node;
  Handle kv = open_lane(node);
  std::string value = "value";
  specgen_kv_request requests[2] = {{1, SPECGEN_KV_OP_PUT, "k", 1, value.data(), value.size()},
                                    {2, SPECGEN_KV_OP_GET, "k", 1, value.data(), kArena + 1}};
  EXPECT_EQ(specgen_kv_submit(kv.get(), requests, 2), SPECGEN_KV_BAD);
  EXPECT_EQ(specgen_kv_exists(kv.get(), "k", 1), 0);
  std::string long_key(lane::kMaxKeyBytes + 1, 'k');
  EXPECT_EQ(put(kv, long_key, value), SPECGEN_KV_BAD);
  EXPECT_EQ(put(kv, "", value), SPECGEN_KV_BAD);
}

TEST(Lane, a_node_that_goes_away_is_told_and_its_successor_is_found) {
  Node node;
  Handle kv = open_lane(node);
  EXPECT_EQ(put(kv, "k", "value"), SPECGEN_KV_OK);
  node.server.reset();
  std::string room(5, '\0');
  EXPECT_EQ(get(kv, "k", room), SPECGEN_KV_GONE);
  EXPECT_EQ(put(kv, "k2", "value"), SPECGEN_KV_GONE);
  specgen_kv_completion none[1];
  EXPECT_EQ(specgen_kv_drain(kv.get(), none, 1), SPECGEN_KV_GONE);
  char error[200] = "";
  EXPECT_FALSE(specgen_kv_open(node.path.c_str(), kArena, 1000, error, sizeof error));
  EXPECT_NE(std::string(error), "");
  node.server = LaneServer::open(*node.store, node.path).value();
  kv = open_lane(node);
  EXPECT_EQ(get(kv, "k", room), 5);
  EXPECT_EQ(room, "value");
}

TEST(Lane, what_was_submitted_to_a_node_that_goes_away_completes) {
  Node node;
  Handle kv = open_lane(node, 4 << 20);
  std::string value = made_up(1 << 20, 3);
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

TEST(Lane, one_path_has_one_node_and_a_socket_left_over_is_replaced) {
  Node node;
  auto second = LaneServer::open(*node.store, node.path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::address_in_use);
  // As a node that was killed leaves it: bound, and nobody listens.
  std::string left = (node.folder.path() / "left").string();
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  left.copy(name.sun_path, left.size());
  {
    Fd dead(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  }
  EXPECT_TRUE(LaneServer::open(*node.store, left));
}

// Says what it wants over the socket.
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
  void say(const Plain& plain, int descriptor = -1) {
    say_bytes(&plain, sizeof plain, descriptor);
  }
  void ask(lane::Request request, std::string_view key) {
    std::string message(reinterpret_cast<const char*>(&request), sizeof request);
    message += key;
    say_bytes(message.data(), message.size());
  }
  // Nothing: the node has closed.
  std::optional<lane::Reply> hear() {
    lane::Reply reply;
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

TEST(LaneHostile, memory_that_could_kill_the_node_is_refused) {
  Node node({.arena = MiB(64)});
  struct Offer {
    std::size_t real_bytes;
    unsigned seals;
    std::uint64_t told_bytes;
  };
  for (Offer offer : {Offer{1 << 20, 0, 1 << 20},                  // could shrink
                      Offer{1 << 20, F_SEAL_SHRINK, 2 << 20},      // smaller than told
                      Offer{1 << 20, F_SEAL_SHRINK, 0},            //
                      Offer{1 << 20, F_SEAL_SHRINK, ~0ULL},        //
                      Offer{128 << 20, F_SEAL_SHRINK, 128 << 20},  // over the limit
                      Offer{1 << 20, F_SEAL_SHRINK | F_SEAL_WRITE, 1 << 20}}) {
    Hostile client(node);
    Fd memory = memory_of(offer.real_bytes, offer.seals);
    client.say(lane::Hello{.arena_bytes = offer.told_bytes}, memory.get());
    auto reply = client.hear();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, lane::Status::refused);
    EXPECT_FALSE(client.hear());
  }
  Hostile with_nothing(node);
  with_nothing.say(lane::Hello{.arena_bytes = 4096});
  EXPECT_EQ(with_nothing.hear()->status, lane::Status::refused);
  Hostile with_a_pipe(node);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Fd one(ends[0]), other(ends[1]);
  with_a_pipe.say(lane::Hello{.arena_bytes = 4096}, one.get());
  EXPECT_EQ(with_a_pipe.hear()->status, lane::Status::refused);
  Hostile with_huge_pages(node);
  Fd huge(::memfd_create("test", MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (huge) {
    EXPECT_EQ(::ftruncate(huge.get(), 2 << 20), 0);
    EXPECT_EQ(::fcntl(huge.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    with_huge_pages.say(lane::Hello{.arena_bytes = 2 << 20}, huge.get());
    EXPECT_EQ(with_huge_pages.hear()->status, lane::Status::refused);
  }
  Handle honest = open_lane(node);
  EXPECT_EQ(put(honest, "k", "value"), SPECGEN_KV_OK);
}

TEST(LaneHostile, a_message_that_breaks_the_rules_ends_the_connection_alone) {
  Node node;
  Handle honest = open_lane(node);
  ASSERT_EQ(put(honest, "k", "value"), SPECGEN_KV_OK);
  constexpr std::uint64_t kBytes = 1 << 20;
  const lane::Request good{
      .id = 1, .operation = lane::Operation::get, .key_bytes = 1, .offset = 0, .bytes = 100};
  auto with = [&](auto change) {
    lane::Request request = good;
    change(request);
    return request;
  };
  const std::vector<lane::Request> wrong{
      with([](auto& r) { r.offset = kBytes; }),
      with([](auto& r) { r.offset = kBytes - 50; }),
      with([](auto& r) { r.offset = ~0ULL - 49; }),
      with([](auto& r) { r.bytes = ~0ULL; }),
      with([](auto& r) { r.bytes = kBytes + 1; }),
      with([](auto& r) { r.operation = static_cast<lane::Operation>(9); }),
      with([](auto& r) { r.key_bytes = 0; }),
      with([](auto& r) { r.key_bytes = 2; }),
      with([](auto& r) { r.key_bytes = ~0U; }),
      with([](auto& r) { r.operation = lane::Operation::put, r.offset = kBytes - 99; }),
  };
  for (const lane::Request& request : wrong) {
    Hostile client(node);
    Fd memory = memory_of(kBytes, F_SEAL_SHRINK);
    client.say(lane::Hello{.arena_bytes = kBytes}, memory.get());
    ASSERT_EQ(client.hear()->status, lane::Status::ok);
    client.ask(good, "k");
    EXPECT_EQ(client.hear()->status, lane::Status::ok);
    client.ask(request, "k");
    EXPECT_FALSE(client.hear());
  }
  EXPECT_EQ(node.server->counters().misbehaved, wrong.size());
  std::string room(5, '\0');
  EXPECT_EQ(get(honest, "k", room), 5);
}

TEST(LaneHostile, noise_is_no_message) {
  Node node;
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    Hostile client(node);
    bool met = round % 2 == 0;
    Fd memory = memory_of(1 << 20, F_SEAL_SHRINK);
    if (met) client.say(lane::Hello{.arena_bytes = 1 << 20}, memory.get());
    if (met) ASSERT_EQ(client.hear()->status, lane::Status::ok);
    std::string noise = made_up(1 + random.below(6000), random.next());
    client.say_bytes(noise.data(), noise.size());
    EXPECT_FALSE(client.hear());
  }
  Handle honest = open_lane(node);
  EXPECT_EQ(put(honest, "k", "value"), SPECGEN_KV_OK);
}

TEST(LaneHostile, more_clients_than_allowed_are_refused_and_room_comes_back) {
  Node node({.clients = 2, .arenas = MiB(40)});
  Handle first = open_lane(node), second = open_lane(node);
  char error[200];
  EXPECT_FALSE(specgen_kv_open(node.path.c_str(), kArena, 5000, error, sizeof error));
  first.reset();
  // The node learns of it in its own time.
  for (int i = 0; i < 1000 && !first; ++i) {
    first.reset(specgen_kv_open(node.path.c_str(), kArena, 5000, error, sizeof error));
  }
  EXPECT_TRUE(first) << error;
}

}  // namespace
}  // namespace specgen
