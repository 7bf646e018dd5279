#pragma once
// One connection of a KV node: commands in, replies out, in order. It does not wait: step() does everything that can
// be done now and returns what to wait for. Values move directly between stream and store.
//
// While a client does not read its replies its commands are still accepted, up to a limit: it may be a client that
// sends all its commands before it reads anything.

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

// Receive buffers. A connection has one only while it is active, so that ten thousand idle connections cost little.
// Single-threaded.
class BufferPool {
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
    event,  // until its stream is ready, or answer() is called
    turn,   // to continue after other connections had their turn
    soon,   // to continue in a moment: a value is arriving from a device
    end,    // closed_for() says why
  };

  // `now` is called only when a large value is sent.
  KvSession(KvService& service, ByteStream& stream, BufferPool& buffers,
            std::shared_ptr<LinkMeter> link, std::function<Time()> now);
  ~KvSession();

  Wants step();

  // A slow command, to be run on another thread; pass its reply to answer(). Returned once.
  std::move_only_function<std::string()> take_slow();
  void answer(std::string reply);

  // Called periodically: ends a stalled connection. True if step() should be called.
  bool check_timeouts(Time now);

  KvClose closed_for() const { return ending_; }
  std::uint64_t id() const { return client_.id; }

 private:
  enum class Input : std::uint8_t { flush, full, blocked, answer, turn, over };

  Input take_input(bool may_flush);
  bool receive_value();  // false: no data
  bool fill_inbox();     // false: no data
  void handle_input();   // what is in the inbox
  void skip_inbox(std::size_t bytes);
  void end_after_replies(KvClose reason);
  void close(KvClose reason);
  ReplyQueue::Sent send();
  ByteStream::Status receive(std::span<const std::span<char>> buffers, std::size_t& bytes);

  KvService& service_;
  ByteStream& stream_;
  BufferPool& buffers_;
  std::function<Time()> now_;
  RespParser parser_;
  KvClient client_;
  std::unique_ptr<char[]> inbox_;
  std::uint32_t inbox_begin_ = 0;
  std::uint32_t inbox_end_ = 0;
  std::size_t value_left_ = 0;  // to be received
  bool is_unfinished_ = false;  // the parser's command waits for space in the queue
  bool waits_for_answer_ = false;
  bool input_is_over_ = false;  // the client has closed its side
  bool is_ending_ = false;      // once the queued replies are sent
  bool is_closed_ = false;
  KvClose ending_ = KvClose::client_left;
  std::uint64_t received_ = 0;  // bytes
  std::size_t turn_bytes_ = 0;  // moved in this step
  std::uint64_t commands_ = 0;  // run

  bool is_measured_ = false;  // a value is being sent
  std::uint64_t measured_from_ = 0;
  std::size_t unacknowledged_ = 0;

  std::optional<Time> first_seen_;  // by check_timeouts()
  std::optional<Time> busy_since_;  // as seen by check_timeouts()
  std::uint64_t busy_from_ = 0;     // bytes moved by then
  std::uint64_t seen_bytes_ = 0;
  std::uint64_t seen_commands_ = 0;
  Time moved_at_{};
};

}  // namespace specgen
