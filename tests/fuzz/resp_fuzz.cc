// Any bytes as requests of the Redis protocol. The parser: any split gives the same commands, values and faults. A
// session: always a row of whole replies. And bytes that choose from sane
// and hostile commands: exactly one well-formed reply to each, in order.

#include <cstdint>
#include <cstdlib>

#include "kvcache/kv_session_testing.h"
#include "kvcache/kv_testing.h"
#include "kvcache/resp_parser.h"
#include "pieces.h"

namespace {

using namespace specgen;
using namespace specgen::kv_testing;

void check(bool holds) {
  if (!holds) std::abort();
}

std::string heard(const std::vector<std::string>& pieces) {
  RespParser parser({.arguments = 64, .text = 512, .value = 1024});
  std::string all;
  std::size_t value_left = 0;
  for (const std::string& piece : pieces) {
    std::string_view bytes = piece;
    while (true) {
      std::size_t taken = std::min(value_left, bytes.size());
      all += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      value_left -= taken;
      if (value_left > 0) break;
      RespParser::Step step = parser.next(bytes);
      if (step == RespParser::Step::more) break;
      all += "\n" + std::to_string(static_cast<int>(step));
      if (step == RespParser::Step::malformed) return all + std::string(message_of(parser.why()));
      if (step == RespParser::Step::value) value_left = parser.value_bytes();
      check(parser.count() <= 64);
      for (std::size_t i = 0; i < parser.count(); ++i) {
        all += "|";
        all += parser.argument(i);
      }
    }
  }
  return all + (parser.in_the_middle() ? "..." : "");
}

KvStore& store() {
  static std::unique_ptr<KvStore> store = open_store(MiB(16));
  return *store;
}

std::string said_to(std::string input, std::vector<std::size_t> sizes) {
  store().clear();
  KvService service(store());
  Talk talk(service, std::move(input), std::move(sizes));
  talk.run();
  return talk.stream.output;
}

// Each byte chooses a command: how many, and as bytes.
std::pair<std::size_t, std::string> commands_of(std::string_view choices) {
  std::size_t count = 0;
  std::string talk;
  for (char choice : choices.substr(0, 200)) {
    auto number = static_cast<unsigned char>(choice);
    std::string key = "k" + std::to_string(number / 16 % 4);
    std::string odd = std::string("\r\n$-1\r\n\0*", 9) + choice;
    ++count;
    switch (number % 16) {
      case 0:
        talk += command({"SET", key, bytes_of(key, 10'000)});
        break;
      case 1:
        talk += command({"SET", odd, odd, odd});
        break;
      case 2:
        talk += command({"GET", key});
        break;
      case 3:
        talk += command({"GET", odd});
        break;
      case 4:
        talk += command({"MGET", key, odd, key});
        break;
      case 5:
        talk += command({"DEL", key});
        break;
      case 6:
        talk += command({"EXISTS", key, odd});
        break;
      case 7:
        talk += command({odd});
        break;
      case 8:
        talk += command({"HELLO", number > 127 ? "3" : "2"});
        break;
      case 9:
        talk += command({"CLIENT", odd, odd});
        break;
      case 10:
        talk += command({"CONFIG", "GET", odd, "*"});
        break;
      case 11:
        talk += command({"KV.RECLAIM", "2MiB"}) + command({"KV.RESTORE", "2MiB"});
        ++count;
        break;
      case 12:
        talk += command({"KV.PIN", odd, odd});
        break;
      case 13:
        talk += command({"SET", key});
        break;
      case 14:
        talk += command({"ECHO", odd});
        break;
      case 15:
        talk += command({"SET", key, "v", "PX", odd, "NX"});
        break;
    }
  }
  return {count, talk};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input = cut_into_pieces(data, size);
  check(heard({input.text}) == heard(input.pieces));

  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < std::min<std::size_t>(size, 4); ++i) sizes.push_back(data[i] * 16u);
  sizes.push_back(4096);
  check(replies_in(said_to(input.text, sizes)).has_value());
  auto [count, talk] = commands_of(input.text);
  auto replies = replies_in(said_to(talk, sizes));
  check(replies.has_value() && replies->size() == count);
  return 0;
}
