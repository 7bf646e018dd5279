#include "kvcache/resp_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxNumberLine = 32;
constexpr std::size_t kMaxTypedLine = 16384;
constexpr std::size_t kKeptCapacity = 512;  // of an idle connection
constexpr std::size_t kValueIndex = 2;      // SET key value

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool equals_ignoring_case(std::string_view name, std::string_view lower_case) {
  return std::ranges::equal(name, lower_case, {}, lower);
}

std::string_view message_of(RespFault fault) {
  switch (fault) {
    case RespFault::none:
      return "nothing";
    case RespFault::bad_number:
      return "a length or count is not a number";
    case RespFault::bad_ending:
      return "a line or argument does not end with CR LF";
    case RespFault::not_a_bulk_string:
      return "an argument is not a bulk string";
    case RespFault::too_many_arguments:
      return "too many arguments";
    case RespFault::text_too_long:
      return "arguments are too long";
    case RespFault::value_too_large:
      return "a value is too large";
    case RespFault::not_our_protocol:
      return "this is not an HTTP server";
  }
  return "unknown";
}

RespParser::Step RespParser::next(std::string_view& bytes) {
  SG_ASSERT(state_ != State::failed, "next() after malformed input");
  if (state_ == State::done) reset();
  bool stop = false;
  Step result = Step::more;
  while (!stop) result = step(bytes, stop);
  return result;
}

RespParser::Step RespParser::step(std::string_view& bytes, bool& stop) {
  stop = true;
  Step found = Step::more;
  switch (state_) {
    case State::start:
      if (bytes.empty()) return Step::more;
      state_ = bytes.front() == '*' ? State::count : State::in_line;
      break;
    case State::count:
      if (!take_line(bytes)) return fault_ == RespFault::none ? Step::more : fail(fault_);
      found = begin_array();
      break;
    case State::in_line:
      if (!take_line(bytes)) return fault_ == RespFault::none ? Step::more : fail(fault_);
      found = split_line();
      break;
    case State::length:
      if (!take_line(bytes)) return fault_ == RespFault::none ? Step::more : fail(fault_);
      found = begin_argument();
      break;
    case State::argument: {
      std::size_t taken = std::min(bytes_left_, bytes.size());
      text_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      bytes_left_ -= taken;
      if (bytes_left_ > 0) return Step::more;
      ends_.push_back(static_cast<std::uint32_t>(text_.size()));
      state_ = State::after;
      break;
    }
    case State::after:
      if (bytes.empty()) return Step::more;
      if (bytes.front() != (line_.empty() ? '\r' : '\n')) return fail(RespFault::bad_ending);
      line_.push_back(bytes.front());
      bytes.remove_prefix(1);
      if (line_.size() < 2) break;
      line_.clear();
      found = end_argument();
      break;
    case State::done:
    case State::failed:
      return fail(fault_);
  }
  stop = found != Step::more;
  return found;
}

// Moves a complete line, without its ending, to line_. False: incomplete, or a fault.
bool RespParser::take_line(std::string_view& bytes) {
  const std::size_t longest = state_ == State::in_line ? kMaxTypedLine : kMaxNumberLine;
  std::size_t end = bytes.find('\n');
  std::size_t length = end == bytes.npos ? bytes.size() : end;
  if (line_.size() + length > longest) {
    fault_ = state_ == State::in_line ? RespFault::text_too_long : RespFault::bad_number;
    return false;
  }
  line_.append(bytes.substr(0, length));
  bytes.remove_prefix(end == bytes.npos ? length : length + 1);
  if (end == bytes.npos) return false;
  bool has_cr = line_.ends_with('\r');
  if (has_cr) line_.pop_back();
  if (has_cr || state_ == State::in_line) return true;  // a typed line may end with LF only
  fault_ = RespFault::bad_ending;
  return false;
}

RespParser::Step RespParser::begin_array() {
  auto count = parse_integer(std::string_view(line_).substr(1));
  if (!count) return fail(RespFault::bad_number);
  if (*count > static_cast<std::int64_t>(limits_.arguments)) {
    return fail(RespFault::too_many_arguments);
  }
  line_.clear();
  to_come_ = *count > 0 ? static_cast<std::uint32_t>(*count) : 0;
  state_ = to_come_ > 0 ? State::length : State::start;  // an empty array is ignored
  return Step::more;
}

RespParser::Step RespParser::begin_argument() {
  if (!line_.starts_with('$')) return fail(RespFault::not_a_bulk_string);
  auto length = parse_integer(std::string_view(line_).substr(1));
  if (!length || *length < 0) return fail(RespFault::bad_number);
  line_.clear();
  auto bytes = static_cast<std::size_t>(*length);
  bool is_the_value = seen_ == kValueIndex && equals_ignoring_case(argument(0), "set");
  if (is_the_value) {
    if (bytes > limits_.value) return fail(RespFault::value_too_large);
    value_bytes_ = bytes;
    has_value_ = true;
    state_ = State::after;
    return Step::value;
  }
  if (bytes > limits_.text - text_.size()) return fail(RespFault::text_too_long);
  bytes_left_ = bytes;
  state_ = State::argument;
  return Step::more;
}

RespParser::Step RespParser::end_argument() {
  ++seen_;
  if (--to_come_ > 0) {
    state_ = State::length;
    return Step::more;
  }
  state_ = State::done;
  return Step::command;
}

RespParser::Step RespParser::split_line() {
  for (std::string_view argument : split(line_, ' ')) {
    argument = trim(argument);
    if (argument.empty()) continue;
    text_.append(argument);
    ends_.push_back(static_cast<std::uint32_t>(text_.size()));
  }
  line_.clear();
  if (ends_.empty()) {
    state_ = State::start;
    return Step::more;
  }
  // A web page can make a browser post a form to this port, with commands in its lines.
  if (equals_ignoring_case(argument(0), "post") || equals_ignoring_case(argument(0), "host:")) {
    return fail(RespFault::not_our_protocol);
  }
  state_ = State::done;
  return Step::command;
}

RespParser::Step RespParser::fail(RespFault fault) {
  fault_ = fault;
  state_ = State::failed;
  return Step::malformed;
}

void RespParser::reset() {
  auto empty = [](auto& kept) {
    kept.clear();
    if (kept.capacity() > kKeptCapacity) kept.shrink_to_fit();
  };
  empty(line_);
  empty(text_);
  empty(ends_);
  has_value_ = false;
  value_bytes_ = 0;
  seen_ = 0;
  state_ = State::start;
}

}  // namespace specgen
