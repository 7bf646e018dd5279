#include "kvcache/kv_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"

namespace specgen {
namespace {

constexpr std::size_t kTurnBytes = std::size_t{2}
                                   << 20;  // moved before other connections get their turn
constexpr std::size_t kPiece = std::size_t{1} << 20;  // received in one call
constexpr std::size_t kMaxShelved = 64;
// Limit before authentication: enough for any handshake.
constexpr std::size_t kMaxUnauthenticated = 16 << 10;

}  // namespace

std::unique_ptr<char[]> BufferPool::take() {
  if (buffers_.empty()) return std::make_unique_for_overwrite<char[]>(kBytes);
  auto buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void BufferPool::give(std::unique_ptr<char[]> buffer) {
  if (buffers_.size() < kMaxShelved) buffers_.push_back(std::move(buffer));
}

KvSession::KvSession(KvService& service, ByteStream& stream, BufferPool& buffers,
                     std::shared_ptr<LinkMeter> link, std::function<Time()> now)
    : service_(service),
      stream_(stream),
      buffers_(buffers),
      now_(std::move(now)),
      client_(service, std::move(link)) {}

KvSession::~KvSession() {
  if (is_measured_) client_.link->end(now_(), 0);
}

KvSession::Wants KvSession::step() {
  turn_bytes_ = 0;
  bool may_flush = true;
  while (!is_closed_) {
    Input input = take_input(may_flush);
    if (is_closed_) break;
    ReplyQueue::Sent sent = send();
    if (is_closed_) break;
    bool is_all_said = sent == ReplyQueue::Sent::all;
    if (is_all_said && input == Input::over) {
      close(ending_);
      break;
    }
    if (input == Input::turn || sent == ReplyQueue::Sent::some) return Wants::turn;
    if (sent == ReplyQueue::Sent::arriving && input != Input::flush) return Wants::soon;
    may_flush = is_all_said;
    bool can_go_on = input == Input::flush || (input == Input::full && is_all_said);
    if (!can_go_on) return Wants::event;
  }
  return Wants::end;
}

// Handles all received commands. Replies are sent (flush) when all input has been handled.
KvSession::Input KvSession::take_input(bool may_flush) {
  while (!is_closed_) {
    if (waits_for_answer_) return Input::answer;
    if (is_ending_) return Input::over;
    if (client_.replies.is_full()) return Input::full;
    if (is_unfinished_) {
      is_unfinished_ = !run_command(client_, parser_);
    } else if (inbox_) {
      handle_input();
    } else if (input_is_over_) {
      end_after_replies(KvClose::client_left);
    } else if (may_flush && !client_.replies.empty()) {
      return Input::flush;
    } else if (turn_bytes_ >= kTurnBytes) {
      return Input::turn;
    } else if (!(value_left_ > 0 ? receive_value() : fill_inbox())) {
      if (!input_is_over_) return Input::blocked;
    }
  }
  return Input::over;
}

void KvSession::handle_input() {
  std::string_view bytes(inbox_.get() + inbox_begin_, inbox_end_ - inbox_begin_);
  if (value_left_ > 0) {
    std::size_t taken = std::min(bytes.size(), value_left_);
    if (client_.writing) {
      taken = client_.writing->for_piece(taken, [&](std::span<char> target) {
        std::size_t length = std::min(target.size(), taken);
        std::copy_n(bytes.data(), length, target.data());
        return length;
      });
    }
    value_left_ -= taken;
    skip_inbox(taken);
    return;
  }
  const std::size_t before = bytes.size();
  RespParser::Step step = parser_.next(bytes);
  skip_inbox(before - bytes.size());
  switch (step) {
    case RespParser::Step::more:
      break;
    case RespParser::Step::value:
      if (!client_.is_authenticated && parser_.value_bytes() > kMaxUnauthenticated) {
        end_after_replies(KvClose::not_authenticated);
        break;
      }
      value_left_ = parser_.value_bytes();
      begin_set(client_, parser_);
      break;
    case RespParser::Step::command:
      ++commands_;
      is_unfinished_ = !run_command(client_, parser_);
      waits_for_answer_ = static_cast<bool>(client_.slow);
      if (client_.wrong_passwords >= service_.limits.wrong_passwords) {
        end_after_replies(KvClose::not_authenticated);
      }
      if (client_.is_leaving) end_after_replies(KvClose::quit);
      break;
    case RespParser::Step::malformed:
      client_.replies.add(fmt::format("-ERR Protocol error: {}\r\n", message_of(parser_.why())));
      end_after_replies(KvClose::malformed);
      break;
  }
}

void KvSession::skip_inbox(std::size_t bytes) {
  inbox_begin_ += static_cast<std::uint32_t>(bytes);
  if (inbox_begin_ == inbox_end_) buffers_.give(std::move(inbox_));
}

ByteStream::Status KvSession::receive(std::span<const std::span<char>> buffers,
                                      std::size_t& bytes) {
  ByteStream::Moved moved = stream_.receive(buffers);
  input_is_over_ = moved.status == ByteStream::Status::ended;
  bytes = moved.status == ByteStream::Status::moved ? moved.bytes : 0;
  received_ += bytes;
  turn_bytes_ += bytes;
  return moved.status;
}

bool KvSession::fill_inbox() {
  inbox_ = buffers_.take();
  std::span<char> target(inbox_.get(), BufferPool::kBytes);
  std::size_t came = 0;
  receive({&target, 1}, came);
  inbox_begin_ = 0;
  inbox_end_ = static_cast<std::uint32_t>(came);
  if (came == 0) buffers_.give(std::move(inbox_));
  return came > 0;
}

// Receives directly into the store, and what follows the value into the inbox with the same call.
bool KvSession::receive_value() {
  std::unique_ptr<char[]> behind = buffers_.take();
  std::size_t came = 0;
  std::size_t of_value = 0;
  auto receive_into = [&](std::span<char> target) {
    target = target.first(std::min(target.size(), value_left_));
    std::array<std::span<char>, 2> buffers{target, {behind.get(), BufferPool::kBytes}};
    receive(std::span(buffers).first(target.size() == value_left_ ? 2 : 1), came);
    of_value = std::min(came, target.size());
    return of_value;
  };
  if (client_.writing) {
    client_.writing->for_piece(std::min(value_left_, kPiece), std::ref(receive_into));
  } else {
    auto nowhere = buffers_.take();
    receive_into({nowhere.get(), BufferPool::kBytes});
    buffers_.give(std::move(nowhere));
  }
  value_left_ -= of_value;
  if (came > of_value) {
    inbox_ = std::move(behind);
    inbox_begin_ = 0;
    inbox_end_ = static_cast<std::uint32_t>(came - of_value);
  } else {
    buffers_.give(std::move(behind));
  }
  return came > 0;
}

ReplyQueue::Sent KvSession::send() {
  ReplyQueue& replies = client_.replies;
  if (replies.empty()) return ReplyQueue::Sent::all;
  if (!is_measured_ && replies.value_in_front() >= LinkMeter::kWorthMeasuring) {
    is_measured_ = true;
    measured_from_ = replies.bytes_sent();
    unacknowledged_ = stream_.unacknowledged();
    client_.link->begin(now_());
  }
  const std::uint64_t before = replies.bytes_sent();
  ReplyQueue::Sent sent = replies.send(stream_, kTurnBytes);
  turn_bytes_ += replies.bytes_sent() - before;
  if (is_measured_ && replies.value_in_front() == 0) {
    is_measured_ = false;
    // Bytes in the send buffer of the system have not reached the client.
    std::uint64_t taken = replies.bytes_sent() - measured_from_ + unacknowledged_;
    std::uint64_t still_there = stream_.unacknowledged();
    client_.link->end(now_(), taken > still_there ? taken - still_there : 0);
  }
  if (sent == ReplyQueue::Sent::ended) close(KvClose::client_left);
  if (sent == ReplyQueue::Sent::value_gone) close(KvClose::value_gone);
  return sent;
}

// Further input from the client is ignored.
void KvSession::end_after_replies(KvClose reason) {
  if (is_ending_) return;
  is_ending_ = true;
  ending_ = reason;
  client_.writing.reset();
}

void KvSession::close(KvClose reason) {
  if (is_closed_) return;
  is_closed_ = true;
  ending_ = reason;
}

std::move_only_function<std::string()> KvSession::take_slow() {
  return std::exchange(client_.slow, nullptr);
}

void KvSession::answer(std::string reply) {
  SG_ASSERT(waits_for_answer_, "answer() without a slow command");
  waits_for_answer_ = false;
  client_.replies.add(reply);
}

bool KvSession::check_timeouts(Time now) {
  const std::uint64_t bytes = received_ + client_.replies.bytes_sent();
  const bool is_unread = !client_.replies.empty();
  const bool is_half_sent = value_left_ > 0 || parser_.in_the_middle();
  const bool is_another = seen_commands_ != commands_;
  const bool has_moved = seen_bytes_ != bytes;
  seen_commands_ = commands_;
  seen_bytes_ = bytes;
  if (!first_seen_) first_seen_ = now;
  // Unauthenticated clients must not occupy connections, whatever they send.
  if (!client_.is_authenticated && now - *first_seen_ >= service_.limits.stalled) {
    close(KvClose::not_authenticated);
    return true;
  }
  if (is_closed_ || waits_for_answer_ || !(is_unread || is_half_sent)) {
    busy_since_.reset();
    return false;
  }
  if (!busy_since_ || is_another) {
    busy_since_ = moved_at_ = now;
    busy_from_ = bytes;
    return false;
  }
  if (has_moved) moved_at_ = now;
  const KvLimits& limits = service_.limits;
  const Duration busy = now - *busy_since_;
  bool is_stalled = now - moved_at_ >= limits.stalled;
  bool is_crawling =
      busy >= limits.stalled && static_cast<double>(bytes - busy_from_) <
                                    seconds(busy) * static_cast<double>(limits.slowest_bytes_per_s);
  if (!is_stalled && !is_crawling) return false;
  close(is_unread ? KvClose::unread : KvClose::half_sent);
  return true;
}

}  // namespace specgen
