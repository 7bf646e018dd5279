#pragma once
// Requests of the Redis protocol (RESP2 and 3 ask alike), from bytes in any split: arrays of bulk strings, and plain
// lines as a person types them. The value of a SET is not among the arguments: when its length is known the parser
// stops, its owner takes that many bytes wherever it wants them, and the parser goes on behind them.
//
//   std::string_view bytes = received;
//   switch (parser.next(bytes)) {                // takes from the front what it has understood
//     case RespParser::Step::more:      ...      // all is taken, and it was not enough
//     case RespParser::Step::value:     ...      // parser.value_bytes() bytes follow; then next() again
//     case RespParser::Step::command:   ...      // arguments are valid until next() is called again
//     case RespParser::Step::malformed: ...      // why() says what; nothing that follows can be trusted
//   }
//
// Between two commands it owns no memory to speak of.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct RespLimits {
  std::size_t arguments = 16384;
  std::size_t text = 1 << 20;  // of all arguments together, the value of a SET apart
  std::size_t value = std::size_t{128} << 20;
};

enum class RespFault : std::uint8_t {
  none,
  bad_number,          // a length or count that is none
  bad_ending,          // no CR LF where one must be
  not_a_bulk_string,   // inside an array
  too_many_arguments,  // these three: more than the limits
  text_too_long,
  value_too_large,
  not_our_protocol,  // somebody speaks HTTP
};
std::string_view words_of(RespFault fault);

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
  bool has_value() const { return has_value_; }  // of this command, outside of its arguments
  std::size_t value_bytes() const { return value_bytes_; }
  RespFault why() const { return fault_; }
  // Whether a command has begun and is not whole.
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
  void forget();

  RespLimits limits_;
  State state_ = State::start;
  RespFault fault_ = RespFault::none;
  bool has_value_ = false;
  std::uint32_t to_come_ = 0;   // arguments
  std::uint32_t seen_ = 0;      // arguments, the value among them
  std::size_t bytes_left_ = 0;  // of the argument, then of CR LF
  std::size_t value_bytes_ = 0;
  std::string line_;                 // a count, a length or a typed line, as far as it has come
  std::string text_;                 // all arguments, one behind the other
  std::vector<std::uint32_t> ends_;  // of each in text_
};

// Whether two names are the same but for the case of letters; `lower` is in lower case.
bool is_same_word(std::string_view word, std::string_view lower);

}  // namespace specgen
