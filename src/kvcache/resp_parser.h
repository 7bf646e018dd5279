#pragma once
// Parses requests of the Redis protocol (the same in RESP2 and 3) from bytes in any split: arrays of bulk strings,
// and plain lines as typed by a person. The value of a SET is not among the arguments: when its length is known the
// parser stops, the owner takes that many bytes, and the parser continues behind them.
//
//   std::string_view bytes = received;
//   switch (parser.next(bytes)) {                // removes what it has parsed from the front
//     case RespParser::Step::more:      ...      // everything is consumed, and it was not enough
//     case RespParser::Step::value:     ...      // parser.value_bytes() bytes follow; then next() again
//     case RespParser::Step::command:   ...      // arguments are valid until next() is called again
//     case RespParser::Step::malformed: ...      // why() has the reason; the rest cannot be parsed
//   }
//
// Between two commands it holds almost no memory.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct RespLimits {
  std::size_t arguments = 16384;
  std::size_t text = 1 << 20;  // of all arguments together, without the value of a SET
  std::size_t value = std::size_t{128} << 20;
};

enum class RespFault : std::uint8_t {
  none,
  bad_number,          // an invalid length or count
  bad_ending,          // CR LF is missing
  not_a_bulk_string,   // inside an array
  too_many_arguments,  // these three: limits exceeded
  text_too_long,
  value_too_large,
  not_our_protocol,  // HTTP
};
std::string_view message_of(RespFault fault);

class RespParser {
 public:
  enum class Step : std::uint8_t { more, value, command, malformed };

  explicit RespParser(RespLimits limits = {}) : limits_(limits) {}

  Step next(std::string_view& bytes);

  std::size_t count() const { return ends_.size(); }
  std::string_view argument(std::size_t index) const {
    std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(text_).substr(begin, ends_[index] - begin);
  }
  bool has_value() const { return has_value_; }  // of this command, not among its arguments
  std::size_t value_bytes() const { return value_bytes_; }
  RespFault why() const { return fault_; }
  // Whether a command is incomplete.
  bool in_the_middle() const { return state_ != State::start && state_ != State::done; }

 private:
  enum class State : std::uint8_t { start, in_line, count, length, argument, after, done, failed };

  Step step(std::string_view& bytes, bool& stop);
  bool take_line(std::string_view& bytes);
  Step begin_array();
  Step begin_argument();
  Step end_argument();
  Step split_line();
  Step fail(RespFault fault);
  void reset();

  RespLimits limits_;
  State state_ = State::start;
  RespFault fault_ = RespFault::none;
  bool has_value_ = false;
  std::uint32_t to_come_ = 0;   // arguments
  std::uint32_t seen_ = 0;      // arguments, including the value
  std::size_t bytes_left_ = 0;  // of the argument, then of CR LF
  std::size_t value_bytes_ = 0;
  std::string line_;                 // a count, a length or a typed line, as received so far
  std::string text_;                 // all arguments, concatenated
  std::vector<std::uint32_t> ends_;  // of each in text_
};

// `lower` must be in lower case.
bool equals_ignoring_case(std::string_view name, std::string_view lower);

}  // namespace specgen
