#pragma once
// The replies that a connection has to send, in order: text, and between it values that stay in the store until they
// are sent. A client that does not read costs the memory of its text, never a copy of a value.

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
    some,        // as much as allowed
    blocked,     // the rest must wait
    arriving,    // a value is coming from a device: try again soon
    ended,       // the client has disconnected
    value_gone,  // a value was reclaimed while it was being sent
  };

  // Appends.
  void add(std::string_view text) { last_text().append(text); }
  // Appends a value as a bulk string, or `nil` if it turns out to be damaged: it is checked in parts when its
  // turn comes.
  // `nil` must outlive the queue.
  void add_value(std::unique_ptr<KvStore::Reader> value, std::string_view nil);

  bool empty() const { return segments_.empty(); }
  // Whether replies should be sent before further commands are answered.
  bool is_full() const;

  // Sends and checks up to about `max` bytes.
  Sent send(ByteStream& stream, std::size_t max);
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  // Size of the value that is being sent or is next; 0: none.
  std::size_t value_in_front() const;

 private:
  struct Segment {
    std::string text;
    std::unique_ptr<KvStore::Reader> value = {};  // behind the text; the last part of the segment
    std::string_view nil =
        {};  // its replacement; empty once the value is checked and its length in the text
  };

  std::string& last_text();
  KvStore::Reader::Verified check_front();
  Sent send_front(ByteStream& stream, std::size_t max);
  void sent(std::size_t bytes);

  std::vector<Segment> segments_;  // valid from first_ on
  std::size_t first_ = 0;
  std::size_t text_sent_ = 0;   // of the first segment
  std::size_t value_sent_ = 0;  // of the first segment
  std::size_t checked_ = 0;     // bytes of the first segment's value
  std::size_t queued_values_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace specgen
