#pragma once
// Server-sent events out of bytes as they come: split anywhere, lines ended by \n, \r\n or \r, with or
// without a byte-order mark, comments and fields that nobody asked for. Owned by the reader of one stream.
//
//   parser.feed(piece);                                  // piece stays alive and unchanged until
//   while (auto event = TRY(parser.next())) read(*event);  // next() has returned nothing
//   ...
//   parser.finish();                                     // at the end of the body; then next() as above
//
// An event that lies whole within the piece is not copied. What is kept of one that does not is bounded:
// a line or an event beyond the limit is an error (bad_stream), and stays one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct SseEvent {
  std::string_view name;  // of its `event:` line; mostly empty
  std::string_view data;  // its `data:` lines, joined by \n
};

class SseParser {
 public:
  static constexpr Bytes kDefaultLimit = MiB(4);  // room for the token ids of a long prompt

  explicit SseParser(Bytes limit = kDefaultLimit) : limit_(limit.count) {}

  // next() has returned nothing since the last feed.
  void feed(std::string_view bytes);
  // The body has ended: an event without its blank line is one nevertheless. Nothing is fed after this.
  void finish();

  // The next event. Its views hold until the next call of anything here.
  Result<std::optional<SseEvent>> next();

  // How many comments came so far. Servers send them to show that they live while they have no token.
  std::uint64_t comments() const { return comments_; }

  // The beginning of the first line that is no part of such a stream, for the error message of a
  // server that answered with a page or with plain JSON. Empty if there was none.
  const std::string& stray() const { return stray_; }

 private:
  std::optional<std::string_view> take_line();  // without its end; nothing if it is not whole yet
  void take_field(std::string_view line);
  void add_data(std::string_view value);
  void forget_event();

  std::uint64_t limit_;
  std::string_view unread_;      // of the piece
  std::size_t line_feed_ = 0;    // in unread_: no \n comes before this place
  std::string line_;             // of a line that began in an earlier piece
  bool line_taken_ = false;      // line_ has been read
  bool line_in_piece_ = false;   // the line that was read last lies in the piece, not in line_
  bool first_line_ = true;       // may begin with a byte-order mark
  bool skip_line_feed_ = false;  // the last line ended with \r: a \n now belongs to it
  bool has_data_ = false;        // the event so far: one line of the piece, or what is in data_
  bool data_in_piece_ = false;
  std::string_view data_view_;
  std::string data_;
  std::string name_;
  bool delivered_ = false;  // the event is in the caller's hands
  std::string stray_;
  std::uint64_t comments_ = 0;
  bool finished_ = false;
  bool failed_ = false;
};

}  // namespace specgen
