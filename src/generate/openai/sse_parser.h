#pragma once
// A parser of server-sent events: bytes split anywhere, lines ended by \n, \r\n or \r, with or without a
// byte-order mark, comments and unknown fields. Owned by the reader of one stream.
//
//   parser.feed(piece);                                  // `piece` must stay valid and unchanged until
//   while (auto event = TRY(parser.next())) read(*event);  // next() has returned nothing
//   ...
//   parser.finish();                                     // at the end of the body; then next() as above
//
// An event within one piece is not copied. An event over several pieces is buffered up to the limit: a longer
// line or event is an error (bad_stream), and so is every call after it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct SseEvent {
  std::string_view name;  // of its `event:` line; usually empty
  std::string_view data;  // its `data:` lines, joined by \n
};

class SseParser {
 public:
  static constexpr Bytes kDefaultLimit = MiB(4);  // fits the token ids of a long prompt

  explicit SseParser(Bytes limit = kDefaultLimit) : limit_(limit.count) {}

  // Only after next() has returned nothing.
  void feed(std::string_view bytes);
  // The body has ended: an event without its blank line counts. Nothing may be fed after this.
  void finish();

  // The next event. Its views are valid until the next call of any member.
  Result<std::optional<SseEvent>> next();

  // The number of comments so far. Servers send them as keepalives.
  std::uint64_t comments() const { return comments_; }

  // The beginning of the first line that does not belong in such a stream, for the error message if a
  // server answers with a page or plain JSON. Empty if there was none.
  const std::string& stray() const { return stray_; }

 private:
  std::optional<std::string_view> take_line();  // without its end; nullopt if incomplete
  void take_field(std::string_view line);
  void add_data(std::string_view value);
  void forget_event();

  std::uint64_t limit_;
  std::string_view unread_;      // of the piece
  std::size_t line_feed_ = 0;    // in unread_: there is no \n before this offset
  std::string line_;             // a line that began in an earlier piece
  bool line_taken_ = false;      // line_ has been read
  bool line_in_piece_ = false;   // the last line read is in the piece, not in line_
  bool first_line_ = true;       // may begin with a byte-order mark
  bool skip_line_feed_ = false;  // the last line ended with \r: a \n now belongs to it
  bool has_data_ = false;        // the event so far: one line of the piece, or data_
  bool data_in_piece_ = false;
  std::string_view data_view_;
  std::string data_;
  std::string name_;
  bool delivered_ = false;  // next() has returned the event
  std::string stray_;
  std::uint64_t comments_ = 0;
  bool finished_ = false;
  bool failed_ = false;
};

}  // namespace specgen
