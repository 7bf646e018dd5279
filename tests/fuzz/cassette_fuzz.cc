// A cassette with damaged bytes: refused, or read as a part of what was recorded, never as anything else. The
// input is where the file is cut, and a list of (position, byte) changes to a good file; then the input
// as a file.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "generate/cassette/cassette_format.h"
#include "generate/cassette/tape.h"

using specgen::Cassette;
using specgen::RecordedExchange;

namespace {

const std::vector<RecordedExchange>& good_exchanges() {
  static const std::vector<RecordedExchange> kGood = [] {
    std::vector<RecordedExchange> all;
    for (std::uint64_t number = 1; number <= 3; ++number) {
      RecordedExchange exchange;
      exchange.number = number;
      exchange.request = {
          "POST", "/v1/chat/completions", {{"accept", "*/*"}}, R"({"messages":[]})"};
      exchange.head = specgen::HttpHead{200, {{"content-type", "text/event-stream"}}};
      for (int i = 1; i <= 4; ++i) {
        exchange.pieces.push_back({std::chrono::milliseconds(i), "data: {\"n\":1}\n\n\xff"});
      }
      exchange.end_after = std::chrono::milliseconds(5);
      exchange.end = specgen::ExchangeEnd::complete;
      all.push_back(exchange);
    }
    return all;
  }();
  return kGood;
}

bool is_part(const Cassette& read, const std::vector<RecordedExchange>& all) {
  if (read.exchanges.size() > all.size()) return false;
  for (std::size_t i = 0; i < read.exchanges.size(); ++i) {
    const RecordedExchange& part = read.exchanges[i];
    if (part.request != all[i].request || part.pieces.size() > all[i].pieces.size() ||
        !std::equal(part.pieces.begin(), part.pieces.end(), all[i].pieces.begin())) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kGood = specgen::encode_cassette(good_exchanges());
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (auto cassette = specgen::parse_cassette(input, "input")) {
    specgen::Tape tape(std::move(*cassette));
  }
  std::string bytes = kGood;
  if (size >= 4) {
    std::uint32_t cut;
    std::memcpy(&cut, data, 4);
    bytes.resize(cut % (bytes.size() + 1));
    data += 4;
    size -= 4;
  }
  // CRC-32 detects any change within 32 bits; many changes could cancel out, so few are made.
  for (int changes = 0; size >= 5 && changes < 3 && !bytes.empty();
       ++changes, data += 5, size -= 5) {
    std::uint32_t position;
    std::memcpy(&position, data, 4);
    bytes[position % bytes.size()] = static_cast<char>(data[4]);
  }
  auto cassette = specgen::parse_cassette(bytes, "damaged");
  if (cassette && !is_part(*cassette, good_exchanges())) std::abort();
  return 0;
}
