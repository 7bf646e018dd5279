#include "generate/openai/sse_parser.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMaxStray = 200;
constexpr std::size_t kBufferKept = 16 * 1024;  // buffers grown by one giant event are freed

std::size_t find_or_end(std::string_view text, char c, std::size_t from = 0) {
  return std::min(text.find(c, from), text.size());
}

void empty(std::string& buffer) {
  if (buffer.capacity() > kBufferKept) {
    buffer = std::string();
  } else {
    buffer.clear();
  }
}

}  // namespace

void SseParser::feed(std::string_view bytes) {
  SG_ASSERT(unread_.empty() || failed_, "a piece is fed when the last one has been read");
  SG_ASSERT(!finished_, "nothing is fed after the end");
  unread_ = bytes;
  line_feed_ = 0;
}

void SseParser::finish() {
  SG_ASSERT(unread_.empty() || failed_, "the last piece is read before the end");
  finished_ = true;
}

Result<std::optional<SseEvent>> SseParser::next() {
  if (delivered_) forget_event();
  while (!failed_) {
    std::optional<std::string_view> line = take_line();
    if (failed_) break;
    bool end = !line && finished_;
    if (!line && !end) {  // the piece becomes invalid: keep what is needed of it
      if (std::exchange(data_in_piece_, false)) data_.assign(data_view_);
      return std::nullopt;
    }
    if (!end && !line->empty()) {
      take_field(*line);
    } else if (has_data_) {
      delivered_ = true;
      return SseEvent{.name = name_, .data = data_in_piece_ ? data_view_ : data_};
    } else {
      name_.clear();
      if (end) return std::nullopt;
    }
  }
  return fail(ErrorCode::bad_stream, "a line or an event is larger than " + format_bytes({limit_}));
}

std::optional<std::string_view> SseParser::take_line() {
  if (std::exchange(line_taken_, false)) empty(line_);
  if (skip_line_feed_ && !unread_.empty()) {
    skip_line_feed_ = false;
    if (unread_.front() == '\n') unread_.remove_prefix(1);
    line_feed_ = 0;
  }
  // Both line ends are searched by memchr, and never twice in the same bytes.
  if (line_feed_ < unread_.size() && unread_[line_feed_] != '\n') {
    line_feed_ = find_or_end(unread_, '\n', line_feed_);
  }
  std::string_view before = unread_.substr(0, line_feed_);
  std::size_t length = find_or_end(before, '\r');
  std::string_view piece = unread_.substr(0, length);
  if (line_.size() + length > limit_) {
    failed_ = true;
    return std::nullopt;
  }

  bool whole = length < unread_.size();
  if (!whole) {
    line_.append(piece);
    unread_ = {};
    line_feed_ = 0;
    if (!finished_ || line_.empty()) return std::nullopt;
    line_in_piece_ = false;
  } else {
    std::size_t end = length + 1;
    if (unread_[length] == '\r') {
      if (end == unread_.size()) skip_line_feed_ = true;
      if (end < unread_.size() && unread_[end] == '\n') ++end;
    }
    unread_.remove_prefix(end);
    line_feed_ = line_feed_ >= end ? line_feed_ - end : 0;
    line_in_piece_ = line_.empty();
    if (!line_in_piece_) line_.append(piece);
  }
  line_taken_ = !line_in_piece_;
  std::string_view line = line_in_piece_ ? piece : std::string_view(line_);
  if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  return line;
}

void SseParser::take_field(std::string_view line) {
  std::size_t colon = find_or_end(line, ':');
  std::string_view field = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    add_data(value);
  } else if (field.empty()) {
    ++comments_;
  } else if (field == "event") {
    name_.assign(value);
  } else if (field != "id" && field != "retry" && stray_.empty()) {
    stray_ = as_utf8(std::string(line.substr(0, kMaxStray)));
  }
}

void SseParser::add_data(std::string_view value) {
  if (!has_data_) {
    has_data_ = true;
    data_in_piece_ = line_in_piece_;
    if (data_in_piece_) {
      data_view_ = value;
    } else {
      data_.assign(value);
    }
    return;
  }
  if (std::exchange(data_in_piece_, false)) data_.assign(data_view_);
  if (data_.size() + 1 + value.size() > limit_) {
    failed_ = true;
    return;
  }
  data_.append(1, '\n').append(value);
}

void SseParser::forget_event() {
  delivered_ = has_data_ = data_in_piece_ = false;
  empty(data_);
  empty(name_);
}

}  // namespace specgen
