#include "kvcache/gateway_session.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kvcache/resp_replies.h"
#include "runtime/race.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kInbox = 16 << 10;
constexpr std::size_t kSmallestBuffer = 1 << 20;
constexpr Duration kUnread =
    30s;  // after which a client that reads no byte of its reply is disconnected

std::string request_of(std::string_view command, std::string_view key) {
  return fmt::format("*2\r\n${}\r\n{}\r\n${}\r\n{}\r\n", command.size(), command, key.size(), key);
}

}  // namespace

std::size_t GatewayShared::node_of(std::uint64_t chain, Time now) const {
  std::array<RankedNode, 256> ranked;
  std::size_t count = std::min(nodes.size(), ranked.size());
  for (std::size_t i = 0; i < count; ++i) {
    ranked[i] = {nodes[i]->name(), nodes[i]->weight(), nodes[i]->is_usable(now)};
  }
  return rank_highest(chain, std::span(ranked).first(count));
}

std::string gateway_stats(const GatewayShared& shared) {
  const GatewayCounters& counters = shared.counters;
  std::string text;
  auto add = [&](std::string_view name, std::uint64_t value) {
    text += fmt::format("specgen_gateway_{} {}\n", name, value);
  };
  add("hits_total", counters.hits);
  add("misses_total", counters.misses);
  add("sets_total", counters.sets);
  add("dropped_sets_total", counters.dropped_sets);
  add("bytes_in_total", counters.bytes_in);
  add("bytes_out_total", counters.bytes_out);
  add("alarms_total", counters.alarms);
  add("clients_total", counters.clients);
  add("clients", counters.open);
  for (const auto& node : shared.nodes) {
    std::string label = fmt::format("{{node=\"{}\"}}", node->address().text());
    add("node_up" + label, node->is_lost() ? 0 : 1);
    add("node_losses_total" + label, node->losses());
  }
  return text;
}

ValueBuffers::ValueBuffers(Loop& loop, std::size_t max_bytes)
    : max_bytes_(std::max(max_bytes, std::bit_ceil(kMaxValueBytes + kSealBytes))), freed_(loop) {}

ValueBuffers::~ValueBuffers() {
  for (Piece piece : free_) ::munmap(piece.at, piece.bytes);
}

Task<ValueBuffers::Buffer> ValueBuffers::take(std::size_t bytes) {
  bytes = std::bit_ceil(std::max(bytes, kSmallestBuffer));
  while (true) {
    auto fitting = std::ranges::find(free_, bytes, &Piece::bytes);
    if (fitting != free_.end()) {
      Piece piece = *fitting;
      free_.erase(fitting);
      co_return Buffer(*this, piece.at, piece.bytes);
    }
    while (mapped_ + bytes > max_bytes_ && !free_.empty()) {  // of another size
      mapped_ -= free_.back().bytes;
      ::munmap(free_.back().at, free_.back().bytes);
      free_.pop_back();
    }
    if (mapped_ + bytes <= max_bytes_) {
      void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (at != MAP_FAILED) {
        ::madvise(at, bytes, MADV_HUGEPAGE);
        mapped_ += bytes;
        co_return Buffer(*this, static_cast<char*>(at), bytes);
      }
    }
    freed_.reset();
    co_await freed_.wait();
  }
}

ValueBuffers::Buffer::~Buffer() {
  if (!owner_) return;
  owner_->free_.push_back({at_, bytes_});
  owner_->freed_.set();
}

GatewaySession::GatewaySession(Loop& loop, RealDriver& driver, GatewayShared& shared,
                               ValueBuffers& buffers, std::unique_ptr<KvSocket> client)
    : loop_(loop),
      driver_(driver),
      shared_(shared),
      buffers_(buffers),
      socket_(std::move(client)),
      client_(shared.service, std::make_shared<LinkMeter>()),
      follower_(shared.chains),
      links_(shared.nodes.size()) {
  ++shared_.counters.clients;
  ++shared_.counters.open;
}

GatewaySession::~GatewaySession() {
  --shared_.counters.open;
}

NodeLink& GatewaySession::link_to(std::size_t node) {
  if (!links_[node]) {
    links_[node] =
        std::make_unique<NodeLink>(loop_, driver_, *shared_.nodes[node], shared_.node_password);
  }
  return *links_[node];
}

Task<NodeLink*> GatewaySession::link_for(std::string_view key) {
  Time now = loop_.now();
  NodeLink& link = link_to(shared_.node_of(follower_.chain_of(key, now), now));
  bool there = co_await link.ready();
  co_return there ? &link : nullptr;
}

Task<bool> GatewaySession::receive() {
  if (inbox_begin_ == inbox_.size()) {
    inbox_.clear();
    inbox_begin_ = 0;
  }
  std::size_t before = inbox_.size();
  inbox_.resize(before + kInbox);
  std::span<char> target(inbox_.data() + before, kInbox);
  while (true) {
    ByteStream::Moved moved = socket_->receive({&target, 1});
    if (moved.status == ByteStream::Status::blocked) {
      inbox_.resize(before);
      if (before == 0) inbox_.shrink_to_fit();  // the connection may stay idle
      co_await socket_->wait();
      inbox_.resize(before + kInbox);
      target = {inbox_.data() + before, kInbox};
      continue;
    }
    inbox_.resize(before + moved.bytes);
    co_return moved.status == ByteStream::Status::moved;
  }
}

Task<bool> GatewaySession::send(std::string_view head, std::string_view body,
                                std::string_view tail) {
  std::array<std::string_view, 3> left{head, body, tail};
  while (std::ranges::any_of(left, [](auto part) { return !part.empty(); })) {
    ByteStream::Moved moved = socket_->send(left);
    if (moved.status == ByteStream::Status::ended) co_return false;
    if (moved.status == ByteStream::Status::blocked) {
      auto first = co_await race(socket_->wait(), loop_.sleep(kUnread));
      if (!first.first()) co_return false;
      continue;
    }
    for (std::string_view& part : left) {
      std::size_t here = std::min(moved.bytes, part.size());
      part.remove_prefix(here);
      moved.bytes -= here;
    }
  }
  co_return true;
}

Task<bool> GatewaySession::flush() {
  while (!client_.replies.empty()) {
    switch (client_.replies.send(*socket_, kPiece)) {
      case ReplyQueue::Sent::all:
      case ReplyQueue::Sent::some:
        break;
      case ReplyQueue::Sent::blocked: {
        auto first = co_await race(socket_->wait(), loop_.sleep(kUnread));
        if (!first.first()) co_return false;
        break;
      }
      case ReplyQueue::Sent::ended:
      case ReplyQueue::Sent::arriving:  // this queue has no values
      case ReplyQueue::Sent::value_gone:
        co_return false;
    }
  }
  co_return true;
}

Task<void> GatewaySession::serve() {
  bool is_open = true;
  while (is_open && !client_.is_leaving) {
    std::string_view bytes = std::string_view(inbox_).substr(inbox_begin_);
    RespParser::Step step = parser_.next(bytes);
    inbox_begin_ = inbox_.size() - bytes.size();
    switch (step) {
      case RespParser::Step::more:
        is_open = co_await receive();
        break;
      case RespParser::Step::value:
        is_open = co_await pass_value();
        break;
      case RespParser::Step::command:
        is_open = co_await answer();
        break;
      case RespParser::Step::malformed:
        (void)co_await send(fmt::format("-ERR Protocol error: {}\r\n", message_of(parser_.why())));
        is_open = false;
        break;
    }
  }
}

// The value of a SET: from the client to the node piece by piece; discarded if the node is lost.
Task<bool> GatewaySession::pass_value() {
  std::string key(parser_.argument(1));
  std::size_t left = parser_.value_bytes();
  NodeLink* link = nullptr;
  bool is_kept = client_.is_authenticated && left + kSealBytes <= kMaxValueBytes;
  if (is_kept) link = co_await link_for(key);
  if (link) {
    std::string sealed = sealed_key(key);
    std::string head = fmt::format("*3\r\n$3\r\nSET\r\n${}\r\n{}\r\n${}\r\n", sealed.size(), sealed,
                                   left + kSealBytes);
    if (!co_await link->send(head)) link = nullptr;
  }
  auto seal = std::make_unique<Seal>(key);
  shared_.counters.bytes_in += left;
  if (!piece_) piece_ = std::make_unique_for_overwrite<char[]>(kPiece);
  while (left > 0) {
    std::size_t bytes = std::min(left, inbox_.size() - inbox_begin_);
    if (bytes > 0) {
      bytes = std::min(bytes, kPiece);
      std::memcpy(piece_.get(), inbox_.data() + inbox_begin_, bytes);
      inbox_begin_ += bytes;
    } else {
      std::span<char> target(piece_.get(), std::min(left, kPiece));
      ByteStream::Moved moved = socket_->receive({&target, 1});
      if (moved.status == ByteStream::Status::ended) co_return false;
      if (moved.status == ByteStream::Status::blocked) {
        co_await socket_->wait();
        continue;
      }
      bytes = moved.bytes;
    }
    left -= bytes;
    if (!link) continue;
    seal->add({piece_.get(), bytes});
    if (!co_await link->send({piece_.get(), bytes})) link = nullptr;
  }
  piece_.reset();
  if (link) {
    std::array<char, kSealBytes> end = seal->bytes();
    bool sent = co_await link->send({end.data(), end.size()}, "\r\n");
    std::optional<std::string> reply;
    if (sent) reply = co_await link->receive_line();
    if (reply && *reply != "+OK") link->drop();  // the position in its replies is unknown now
    if (!reply || *reply != "+OK") link = nullptr;
  }
  ++(link ? shared_.counters.sets : shared_.counters.dropped_sets);
  co_return true;
}

Task<std::optional<ValueBuffers::Buffer>> GatewaySession::fetch(const std::string& key,
                                                                std::size_t& bytes) {
  NodeLink* link = co_await link_for(key);
  if (!link || !co_await link->send(request_of("GET", sealed_key(key)))) co_return std::nullopt;
  std::optional<std::string> head = co_await link->receive_line();
  if (!head || *head == "$-1") co_return std::nullopt;
  auto length = head->starts_with('$') ? resp::parse_integer(std::string_view(*head).substr(1))
                                       : std::nullopt;
  if (!length || *length < 0 || *length > static_cast<std::int64_t>(kMaxValueBytes)) {
    link->drop();
    co_return std::nullopt;
  }
  auto sealed_bytes = static_cast<std::size_t>(*length);
  ValueBuffers::Buffer buffer = co_await buffers_.take(sealed_bytes + 2);
  std::size_t value_bytes = sealed_bytes >= kSealBytes ? sealed_bytes - kSealBytes : 0;
  auto seal = std::make_unique<Seal>(key);
  std::size_t at = 0, sealed = 0;
  while (at < sealed_bytes + 2) {
    std::size_t came =
        co_await link->receive_some({buffer.data() + at, std::min(sealed_bytes + 2 - at, kPiece)});
    if (came == 0) co_return std::nullopt;
    at += came;
    std::size_t now = std::min(at, value_bytes);  // while it is in the cache
    seal->add({buffer.data() + sealed, now - sealed});
    sealed = now;
  }
  if (std::memcmp(buffer.data() + sealed_bytes, "\r\n", 2) != 0) {
    link->drop();
    co_return std::nullopt;
  }
  if (sealed_bytes < kSealBytes ||
      std::memcmp(buffer.data() + value_bytes, seal->bytes().data(), kSealBytes) != 0) {
    ++shared_.counters.alarms;
    // A node keeps the first value of a key: delete the damaged one.
    bool asked = co_await link->send(request_of("DEL", sealed_key(key)));
    if (asked) (void)co_await link->receive_line();
    co_return std::nullopt;
  }
  bytes = value_bytes;
  co_return std::move(buffer);
}

Task<bool> GatewaySession::give(std::string key) {
  std::size_t bytes = 0;
  std::optional<ValueBuffers::Buffer> value = co_await fetch(key, bytes);
  if (!value) {
    ++shared_.counters.misses;
    co_return co_await send(client_.speaks_resp3 ? "_\r\n" : "$-1\r\n");
  }
  ++shared_.counters.hits;
  shared_.counters.bytes_out += bytes;
  std::string head = fmt::format("${}\r\n", bytes);
  co_return co_await send(head, {value->data(), bytes}, "\r\n");
}

Task<std::int64_t> GatewaySession::count_on_nodes(std::string_view command) {
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < parser_.count(); ++i) {
    std::string key(parser_.argument(i));
    NodeLink* link = co_await link_for(key);
    if (!link || !co_await link->send(request_of(command, sealed_key(key)))) continue;
    std::optional<std::string> reply = co_await link->receive_line();
    if (reply && *reply == ":1") ++sum;
    if (reply && *reply != ":1" && *reply != ":0") link->drop();
  }
  co_return sum;
}

Task<std::int64_t> GatewaySession::send_to_all_nodes() {
  std::string request = fmt::format("*{}\r\n", parser_.count());
  for (std::size_t i = 0; i < parser_.count(); ++i) {
    request += fmt::format("${}\r\n{}\r\n", parser_.argument(i).size(), parser_.argument(i));
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < shared_.nodes.size(); ++i) {
    NodeLink& link = link_to(i);
    if (!co_await link.ready() || !co_await link.send(request)) continue;
    std::optional<std::string> reply = co_await link.receive_line();
    if (reply && reply->starts_with(':'))
      sum += resp::parse_integer(std::string_view(*reply).substr(1)).value_or(0);
    if (reply && reply->starts_with('$'))
      link.drop();  // a bulk reply would follow, which none of these commands has
  }
  co_return sum;
}

Task<bool> GatewaySession::answer() {
  std::string name(parser_.argument(0));
  auto is = [&](std::string_view lower) { return equals_ignoring_case(name, lower); };
  std::size_t arguments = parser_.count();
  if (!client_.is_authenticated) {
    run_command(client_, parser_);
  } else if (is("set") && parser_.has_value()) {
    client_.replies.add("+OK\r\n");
  } else if (is("get") && arguments == 2) {
    co_return co_await give(std::string(parser_.argument(1)));
  } else if (is("mget") && arguments > 1) {
    bool taken = co_await send(fmt::format("*{}\r\n", arguments - 1));
    for (std::size_t i = 1; taken && i < arguments; ++i)
      taken = co_await give(std::string(parser_.argument(i)));
    co_return taken;
  } else if (is("exists") && arguments > 1) {
    resp::add_number(client_.replies, co_await count_on_nodes("EXISTS"));
  } else if ((is("del") || is("unlink")) && arguments > 1) {
    resp::add_number(client_.replies, co_await count_on_nodes("DEL"));
  } else if (is("dbsize") || is("kv.drop")) {
    resp::add_number(client_.replies, co_await send_to_all_nodes());
  } else if (is("flushdb") || is("flushall") || is("kv.pin") || is("kv.unpin")) {
    co_await send_to_all_nodes();
    client_.replies.add("+OK\r\n");
  } else if (is("kv.stats")) {
    resp::add_bulk(client_.replies, gateway_stats(shared_));
  } else if (is("kv.reclaim") || is("kv.restore")) {
    resp::add_error(client_.replies, "send this to the node itself: ", name, "");
  } else {
    run_command(client_, parser_);
  }
  co_return co_await flush();
}

}  // namespace specgen
