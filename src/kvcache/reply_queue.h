#pragma once
// What a connection still has to say, in order: text, and between it values that stay in the store until they are
// sent. A client that does not read costs what its text takes, never a copy of a value.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/byte_stream.h"
#include "kvcache/kv_store.h"

namespace specgen {

class ReplyQueue {
 public:
  enum class Sent : std::uint8_t {
    all,
    some,        // as much as was allowed
    blocked,     // the rest must wait
    arriving,    // a value is on its way from a device: soon
    ended,       // nobody listens
    value_gone,  // the store could not keep what had been begun
  };

  // Behind everything that is queued.
  void add(std::string_view text) { last_text().append(text); }
  // As a bulk string; as `nil` if its bytes turn out not to be what was stored. They are checked when their turn comes,
  // a part at a time. `nil` outlives the queue.
  void add_value(std::unique_ptr<KvStore::Reader> value, std::string_view nil);

  bool empty() const { return segments_.empty(); }
  // Whether no more commands should be answered before some of this is sent.
  bool is_full() const;

  // Sends, and checks, up to about `most` bytes.
  Sent send(ByteStream& stream, std::size_t most);
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  // Of the value that is being sent or comes next; 0 if there is none.
  std::size_t value_in_front() const;

 private:
  struct Segment {
    std::string text;
    std::unique_ptr<KvStore::Reader> value =
        {};  // after the text; what follows is in the next segment
    std::string_view nil =
        {};  // what to say instead; empty once the value is checked and its length in the text
  };

  std::string& last_text();
  KvStore::Reader::Verified check_front();
  Sent send_front(ByteStream& stream, std::size_t most);
  void sent(std::size_t bytes);

  std::vector<Segment> segments_;  // from first_ on
  std::size_t first_ = 0;
  std::size_t text_sent_ = 0;   // of the first segment
  std::size_t value_sent_ = 0;  // of the first segment
  std::size_t checked_ = 0;     // that were to be, of the first segment's value
  std::size_t queued_values_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace specgen
