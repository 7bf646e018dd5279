#pragma once
// For tests of sessions: a stream that delivers its bytes and takes replies in pieces of any size, and a function
// that finds the end of a reply.

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/kv_session.h"

namespace specgen::kv_testing {

class ScriptedStream final : public ByteStream {
 public:
  // `sizes` are the bytes moved per call, repeated; 0 is a blocked call.
  ScriptedStream(std::string input, std::vector<std::size_t> sizes)
      : input_(std::move(input)), sizes_(std::move(sizes)) {}

  Moved receive(std::span<const std::span<char>> buffers) override {
    if (at_ == input_.size()) return {is_open ? Status::blocked : Status::ended, 0};
    std::size_t allowed = next_size();
    if (allowed == 0) return {};
    std::size_t moved = 0;
    for (std::span<char> target : buffers) {
      std::size_t length = std::min({target.size(), allowed - moved, input_.size() - at_});
      std::memcpy(target.data(), input_.data() + at_, length);
      at_ += length;
      moved += length;
    }
    return {Status::moved, moved};
  }
  Moved send(std::span<const std::string_view> pieces) override {
    if (!is_read) return {};
    std::size_t allowed = next_size();
    if (allowed == 0) return {};
    std::size_t moved = 0;
    for (std::string_view piece : pieces) {
      std::string_view taken = piece.substr(0, allowed - moved);
      output += taken;
      moved += taken.size();
    }
    return {Status::moved, moved};
  }

  void add_input(std::string_view more) { input_ += more; }
  std::size_t unread_input() const { return input_.size() - at_; }

  std::string output;
  bool is_open = false;  // more input may follow
  bool is_read = true;   // replies can be sent

 private:
  std::size_t next_size() {
    return sizes_.empty() ? ~std::size_t{0} : sizes_[turn_++ % sizes_.size()];
  }

  std::string input_;
  std::size_t at_ = 0;
  std::vector<std::size_t> sizes_;
  std::size_t turn_ = 0;
};

// A session over a scripted stream.
struct ScriptedSession {
  explicit ScriptedSession(KvService& service, std::string input = {},
                           std::vector<std::size_t> sizes = {})
      : stream(std::move(input), std::move(sizes)),
        session(service, stream, buffers, service.links.of("test"), [this] { return now; }) {}

  // Runs until the session waits.
  KvSession::Wants run() {
    constexpr int kMaxSteps = 1'000'000;
    KvSession::Wants wants = KvSession::Wants::turn;
    std::size_t quiet = 0;
    for (int i = 0; i < kMaxSteps && wants != KvSession::Wants::end; ++i) {
      const std::size_t before = stream.output.size() + stream.unread_input();
      wants = session.step();
      if (auto slow = session.take_slow()) {
        session.answer(slow());
        continue;
      }
      bool moved = before != stream.output.size() + stream.unread_input();
      quiet = moved || wants == KvSession::Wants::turn ? 0 : quiet + 1;
      if (quiet > 16) break;
    }
    return wants;
  }

  ScriptedStream stream;
  BufferPool buffers;
  Time now{};
  KvSession session;
};

inline std::string command(std::initializer_list<std::string_view> arguments) {
  std::string text = "*" + std::to_string(arguments.size()) + "\r\n";
  for (std::string_view argument : arguments) {
    text += "$" + std::to_string(argument.size()) + "\r\n";
    text += argument;
    text += "\r\n";
  }
  return text;
}

// The end of the first reply; nothing if it is incomplete or malformed.
inline std::optional<std::size_t> end_of_reply(std::string_view bytes) {
  std::size_t line = bytes.find("\r\n");
  if (bytes.empty() || line == bytes.npos) return std::nullopt;
  const char kind = bytes[0];
  std::string_view rest = bytes.substr(1, line - 1);
  if (kind == '+' || kind == '-' || kind == '_') {
    return rest.contains('\n') ? std::nullopt : std::optional(line + 2);
  }
  long long number = 0;
  const char* end = rest.data() + rest.size();
  bool is_number = std::from_chars(rest.data(), end, number).ptr == end && !rest.empty();
  if (!is_number) return std::nullopt;
  std::size_t at = line + 2;
  if (kind == ':') return at;
  if (kind == '$') {
    if (number < 0) return at;
    at += static_cast<std::size_t>(number);
    if (bytes.size() < at + 2 || bytes.substr(at, 2) != "\r\n") return std::nullopt;
    return at + 2;
  }
  if (kind != '*' && kind != '%') return std::nullopt;
  for (long long i = 0; i < (kind == '%' ? 2 * number : number); ++i) {
    auto item = end_of_reply(bytes.substr(at));
    if (!item) return std::nullopt;
    at += *item;
  }
  return at;
}

// All replies; nothing if they are not a sequence of complete replies.
inline std::optional<std::vector<std::string>> replies_in(std::string_view bytes) {
  std::vector<std::string> replies;
  while (!bytes.empty()) {
    auto end = end_of_reply(bytes);
    if (!end) return std::nullopt;
    replies.emplace_back(bytes.substr(0, *end));
    bytes.remove_prefix(*end);
  }
  return replies;
}

}  // namespace specgen::kv_testing
