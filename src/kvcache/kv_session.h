#pragma once
// One connection of a KV node, from its bytes to its bytes: commands in, replies out, in order. It does not wait:
// step() does all that can be done now, and says what to wait for. Values go straight between stream and store.
//
// While a client does not read its replies its commands are still taken, up to a limit: it may be one that sends all it
// has to say before it reads anything.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvcache/byte_stream.h"
#include "kvcache/kv_commands.h"
#include "kvcache/resp_parser.h"

namespace specgen {

// Where bytes are received before it is known what they are. Connections have one only while they are talking, so
// that ten thousand idle ones cost next to nothing. Of one thread.
class BufferShelf {
 public:
  static constexpr std::size_t kBytes = 16 << 10;
  std::unique_ptr<char[]> take();
  void give(std::unique_ptr<char[]> buffer);

 private:
  std::vector<std::unique_ptr<char[]>> buffers_;
};

class KvSession {
 public:
  enum class Wants : std::uint8_t {
    stir,  // that its stream can take or give something, or that answer() is called
    turn,  // to go on after others have had theirs
    soon,  // to go on in a moment: a value is on its way
    end,   // closed_for() says why
  };

  // `now` is asked only when a large value is sent.
  KvSession(KvService& service, ByteStream& stream, BufferShelf& shelf,
            std::shared_ptr<LinkMeter> link, std::function<Time()> now);
  ~KvSession();

  Wants step();

  // A command that takes a while, to be run on another thread; its reply comes back by answer(). Taken once.
  std::move_only_function<std::string()> take_slow();
  void answer(std::string reply);

  // Called now and then: ends what does not move. True if step() should be called.
  bool look_at_clock(Time now);

  KvClose closed_for() const { return ending_; }
  std::uint64_t id() const { return client_.id; }

 private:
  enum class Input : std::uint8_t { flush, full, blocked, answer, turn, over };

  Input take_input(bool may_flush);
  bool receive_value();  // false: nothing came
  bool fill_inbox();     // false: nothing came
  void understand();     // what is in the inbox
  void skip_inbox(std::size_t bytes);
  void end_after_replies(KvClose reason);
  void close(KvClose reason);
  ReplyQueue::Sent send();
  ByteStream::Status receive(std::span<const std::span<char>> rooms, std::size_t& bytes);

  KvService& service_;
  ByteStream& stream_;
  BufferShelf& shelf_;
  std::function<Time()> now_;
  RespParser parser_;
  KvClient client_;
  std::unique_ptr<char[]> inbox_;
  std::uint32_t inbox_begin_ = 0;
  std::uint32_t inbox_end_ = 0;
  std::size_t value_left_ = 0;  // to be received
  bool is_unfinished_ = false;  // the parser's command waits for room in the queue
  bool waits_for_answer_ = false;
  bool input_is_over_ = false;  // the client has no more to say
  bool is_ending_ = false;      // when all that is queued has been said
  bool is_closed_ = false;
  KvClose ending_ = KvClose::client_left;
  std::uint64_t received_ = 0;  // bytes
  std::size_t turn_bytes_ = 0;  // moved in this step
  std::uint64_t commands_ = 0;  // run

  bool is_measured_ = false;  // a value is being sent
  std::uint64_t measured_from_ = 0;
  std::size_t on_the_way_ = 0;

  std::optional<Time> first_seen_;  // by look_at_clock()
  std::optional<Time> busy_since_;  // as seen by look_at_clock()
  std::uint64_t busy_from_ = 0;     // bytes moved by then
  std::uint64_t seen_bytes_ = 0;
  std::uint64_t seen_commands_ = 0;
  Time moved_at_{};
};

}  // namespace specgen
