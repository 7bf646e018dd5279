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
  // The next line without its end, if it is whole (or the body has ended).
  Result<std::optional<std::string_view>> take_line();
  Result<void> take_field(std::string_view line);
  Result<void> add_data(std::string_view value);
  std::optional<SseEvent> dispatch();
  void keep_views();
  std::unexpected<Error> too_large();

  std::uint64_t limit_;
  std::string_view unread_;  // of the piece
  std::string line_;         // the part of a line that earlier pieces had
  std::string data_;         // of the event so far, where it is not one line of this piece
  std::string name_;
  std::string_view data_view_;  // of the event so far, where it is
  std::string_view name_view_;
  std::string stray_;
  std::uint64_t comments_ = 0;
  bool line_in_piece_ = false;   // the line just taken lies in the piece
  bool data_in_piece_ = false;   // data_view_ counts, not data_
  bool has_data_ = false;        // of the event so far
  bool first_line_ = true;       // may begin with a byte-order mark
  bool skip_line_feed_ = false;  // the last line ended with \r: a \n now belongs to it
  bool delivered_ = false;       // data_ and name_ are the caller's until now
  bool finished_ = false;
  bool failed_ = false;
};

}  // namespace specgen
