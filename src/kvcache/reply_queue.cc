#include "kvcache/reply_queue.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace specgen {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;    // sent in one call
constexpr std::size_t kChecked = std::size_t{1} << 20;  // before other connections get their turn
constexpr std::size_t kCopied =
    4096;  // smaller values are copied to the text: cheaper than another call
constexpr std::size_t kMaxText = 1 << 18;  // in one segment
constexpr std::size_t kMaxValues = std::size_t{64} << 20;
constexpr std::size_t kMaxSegments = 256;
constexpr std::size_t kKeptSegments = 2;
constexpr std::string_view kEnding = "\r\n";

std::string header_of(std::size_t bytes) {
  return "$" + std::to_string(bytes) + std::string(kEnding);
}

}  // namespace

std::string& ReplyQueue::last_text() {
  if (segments_.empty() || segments_.back().value) segments_.emplace_back();
  return segments_.back().text;
}

void ReplyQueue::add_value(std::unique_ptr<KvStore::Reader> value, std::string_view nil) {
  const std::size_t bytes = value->bytes();
  std::string& text = last_text();
  if (bytes > kCopied) {
    segments_.back().value = std::move(value);
    segments_.back().nil = nil;
    queued_values_ += bytes;
    last_text() += kEnding;
    return;
  }
  std::string copy;
  bool is_valid = value->verify_some(bytes) == KvStore::Reader::Verified::yes;
  while (is_valid && copy.size() < bytes) {
    is_valid = value
                   ->for_piece(copy.size(), bytes,
                               [&](std::span<const char> piece) {
                                 copy.append(piece.data(), piece.size());
                                 return piece.size();
                               })
                   .has_value();
  }
  if (!is_valid) {
    text += nil;
    return;
  }
  text += header_of(bytes);
  text += copy;
  text += kEnding;
}

bool ReplyQueue::is_full() const {
  return queued_values_ >= kMaxValues || segments_.size() - first_ >= kMaxSegments ||
         (!segments_.empty() && segments_.back().text.size() >= kMaxText);
}

std::size_t ReplyQueue::value_in_front() const {
  if (segments_.empty() || !segments_[first_].value) return 0;
  return segments_[first_].value->bytes();
}

ReplyQueue::Sent ReplyQueue::send(ByteStream& stream, std::size_t max) {
  const std::uint64_t end = bytes_sent_ + max;
  std::size_t checked = 0;
  while (!segments_.empty()) {
    if (bytes_sent_ + checked >= end) return Sent::some;
    if (!segments_[first_].nil.empty()) {
      checked += kChecked;
      if (check_front() == KvStore::Reader::Verified::not_yet) {
        // More calls than bytes to check: it has not arrived yet.
        if (checked_ > segments_[first_].value->bytes()) return Sent::arriving;
        continue;
      }
    }
    Sent sent = send_front(stream, kPiece);
    if (sent != Sent::some) return sent;
  }
  return Sent::all;
}

// The length is sent only once it is certain that the bytes can follow.
KvStore::Reader::Verified ReplyQueue::check_front() {
  Segment& front = segments_[first_];
  auto verified = front.value->verify_some(kChecked);
  checked_ += kChecked;
  if (verified == KvStore::Reader::Verified::not_yet) return verified;
  if (verified == KvStore::Reader::Verified::yes) {
    front.text += header_of(front.value->bytes());
  } else {
    queued_values_ -= front.value->bytes();
    front.value.reset();
    front.text += front.nil;
    segments_[first_ + 1].text.erase(0, kEnding.size());
  }
  front.nil = {};
  checked_ = 0;
  return verified;
}

ReplyQueue::Sent ReplyQueue::send_front(ByteStream& stream, std::size_t max) {
  Segment& front = segments_[first_];
  std::array<std::string_view, 3> pieces;
  pieces[0] = std::string_view(front.text).substr(text_sent_);
  ByteStream::Moved moved;
  if (!front.value) {
    moved = stream.send(pieces);
  } else {
    std::size_t value_bytes = front.value->bytes();
    auto taken =
        front.value->for_piece(value_sent_, max, [&](std::span<const char> bytes) -> std::size_t {
          pieces[1] = {bytes.data(), bytes.size()};
          bool is_last = value_sent_ + bytes.size() == value_bytes;
          if (is_last) pieces[2] = segments_[first_ + 1].text;
          moved = stream.send(pieces);
          return moved.bytes > pieces[0].size()
                     ? std::min(moved.bytes - pieces[0].size(), bytes.size())
                     : 0;
        });
    if (!taken) return Sent::value_gone;
  }
  if (moved.status == ByteStream::Status::ended) return Sent::ended;
  if (moved.status == ByteStream::Status::blocked) return Sent::blocked;
  sent(moved.bytes);
  return Sent::some;
}

void ReplyQueue::sent(std::size_t bytes) {
  bytes_sent_ += bytes;
  while (bytes > 0) {
    Segment& front = segments_[first_];
    std::size_t of_text = std::min(bytes, front.text.size() - text_sent_);
    text_sent_ += of_text;
    bytes -= of_text;
    const std::size_t value_bytes = front.value ? front.value->bytes() : 0;
    std::size_t of_value = std::min(bytes, value_bytes - value_sent_);
    value_sent_ += of_value;
    bytes -= of_value;
    if (text_sent_ < front.text.size() || value_sent_ < value_bytes) break;
    queued_values_ -= value_bytes;
    text_sent_ = value_sent_ = 0;
    front = {};
    if (++first_ == segments_.size()) {
      SG_ASSERT(bytes == 0, "more bytes sent than queued");
      segments_.clear();
      if (segments_.capacity() > kKeptSegments) segments_.shrink_to_fit();
      first_ = 0;
    }
  }
  if (first_ >= kMaxSegments) {  // for a client that never lets the queue run empty
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

}  // namespace specgen
