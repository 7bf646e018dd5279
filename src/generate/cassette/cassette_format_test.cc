#include "generate/cassette/cassette_format.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "generate/cassette/cassette_for_tests.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

void expect_equal(const RecordedExchange& a, const RecordedExchange& b) {
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.request, b.request);
  EXPECT_EQ(a.head.has_value(), b.head.has_value());
  if (a.head && b.head) {
    EXPECT_EQ(a.head->status, b.head->status);
    EXPECT_EQ(a.head->headers, b.head->headers);
  }
  EXPECT_EQ(a.pieces, b.pieces);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.error, b.error);
}

// Whether `part` is a state of the recording before `whole`.
bool is_beginning_of(const RecordedExchange& part, const RecordedExchange& whole) {
  if (part.request != whole.request || part.pieces.size() > whole.pieces.size()) return false;
  if (!std::equal(part.pieces.begin(), part.pieces.end(), whole.pieces.begin())) return false;
  return part.end == ExchangeEnd::interrupted || part.end == whole.end;
}

std::string random_bytes(Random& random, std::size_t most) {
  std::string bytes(random.below(most + 1), '\0');
  bool text = random.chance(0.5);
  for (char& c : bytes) c = static_cast<char>(text ? 'a' + random.below(26) : random.below(256));
  return bytes;
}

std::vector<RecordedExchange> random_exchanges(Random& random) {
  std::vector<RecordedExchange> all(random.below(5));
  for (std::size_t i = 0; i < all.size(); ++i) {
    RecordedExchange& exchange = all[i];
    exchange.number = i + 1;
    exchange.request = {"POST", "/v1/chat", {{"accept", "x"}}, random_bytes(random, 40)};
    if (random.chance(0.9)) exchange.head = HttpHead{200, {{"content-type", "text/plain"}}};
    Duration after{};
    for (std::uint64_t left = exchange.head ? random.below(6) : 0; left > 0; --left) {
      after += std::chrono::microseconds(random.below(5'000'000));
      exchange.pieces.push_back({after, random_bytes(random, 60)});
    }
    exchange.end_after = after;
    exchange.end = static_cast<ExchangeEnd>(random.below(4));
    if (exchange.end == ExchangeEnd::failed) exchange.error = "it \"broke\"\n";
  }
  return all;
}

TEST(CassetteFormat, a_written_file_is_read_back_exactly) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  RecordedExchange exchange =
      exchange_of(1, "{}", {{10ms, every_byte}, {20ms, "h\xc3"}, {30ms, "\xa4!"}});
  auto cassette = parse_cassette(encode_cassette({exchange}), "a");
  ASSERT_TRUE(cassette) << cassette.error().text();
  ASSERT_EQ(cassette->exchanges.size(), 1u);
  expect_equal(cassette->exchanges[0], exchange);
  EXPECT_EQ(cassette->exchanges[0].body(), every_byte + "h\xc3\xa4!");
  EXPECT_FALSE(cassette->torn);
}

TEST(CassetteFormat, random_recordings_are_read_back_exactly) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    auto exchanges = random_exchanges(random);
    auto cassette = parse_cassette(encode_cassette(exchanges), "a");
    ASSERT_TRUE(cassette) << cassette.error().text();
    ASSERT_EQ(cassette->exchanges.size(), exchanges.size());
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      expect_equal(cassette->exchanges[i], exchanges[i]);
    }
  }
}

TEST(CassetteFormat, a_truncated_file_is_readable_up_to_its_last_complete_record) {
  Random random(12);
  auto exchanges = random_exchanges(random);
  while (exchanges.size() < 3) exchanges = random_exchanges(random);
  std::string file = encode_cassette(exchanges);
  std::size_t header = file.find('\n') + 1;
  for (std::size_t size = 0; size < file.size(); ++size) {
    auto cassette = parse_cassette(std::string_view(file).substr(0, size), "a");
    if (size < header) {
      ASSERT_FALSE(cassette);
      EXPECT_EQ(cassette.error().code, ErrorCode::cassette_damaged);
      continue;
    }
    ASSERT_TRUE(cassette) << size << ": " << cassette.error().text();
    EXPECT_EQ(cassette->torn, file[size - 1] != '\n');
    EXPECT_EQ(cassette->complete_bytes, file.rfind('\n', size - 1) + 1);
    for (std::size_t i = 0; i < cassette->exchanges.size(); ++i) {
      EXPECT_TRUE(is_beginning_of(cassette->exchanges[i], exchanges[i])) << size;
    }
  }
}

TEST(CassetteFormat, any_changed_byte_is_detected) {
  std::string file =
      encode_cassette({exchange_of(1, "{}", {{1ms, "data: a\n\n"}, {2ms, "data: b\n\n"}})});
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (char flip : {'\x01', '\x20'}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      auto cassette = parse_cassette(damaged, "a");
      if (cassette) {  // the newline at the end, without which the last record is incomplete
        EXPECT_EQ(at, file.size() - 1);
        EXPECT_TRUE(cassette->torn);
      } else {
        EXPECT_EQ(cassette.error().code, ErrorCode::cassette_damaged) << at;
      }
    }
  }
}

TEST(CassetteFormat, a_lost_duplicated_or_moved_record_is_detected) {
  std::string file = encode_cassette({exchange_of(1, "{}", {{1ms, "a"}, {1ms, "a"}, {1ms, "b"}})});
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < file.size(); at = file.find('\n', at) + 1) {
    lines.push_back(file.substr(at, file.find('\n', at) + 1 - at));
  }
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    std::string lost, doubled, moved;
    for (std::size_t j = 0; j < lines.size(); ++j) {
      if (j != i) lost += lines[j];
      doubled += j == i ? lines[j] + lines[j] : lines[j];
      moved += j == i ? lines[i + 1] : j == i + 1 ? lines[i] : lines[j];
    }
    for (const std::string& changed : {lost, doubled, moved}) {
      auto cassette = parse_cassette(changed, "a");
      ASSERT_FALSE(cassette) << i;
      EXPECT_EQ(cassette.error().code, ErrorCode::cassette_damaged);
    }
  }
}

TEST(CassetteFormat, a_damaged_file_has_advice_how_to_keep_its_good_part) {
  std::string file = encode_cassette({exchange_of(1, "{}", {{1ms, "data: a\n\n"}})});
  std::size_t at = file.find("data");
  file[at] = 'X';
  auto cassette = parse_cassette(file, "runs/a.cassette");
  ASSERT_FALSE(cassette);
  std::size_t good = file.rfind('\n', at) + 1;
  EXPECT_NE(cassette.error().advice.find("head -c " + std::to_string(good) + " runs/a.cassette"),
            std::string::npos);
  EXPECT_TRUE(parse_cassette(file.substr(0, good), "a"));
}

TEST(CassetteFormat, a_newer_version_is_not_reported_as_damage) {
  auto newer = parse_cassette("{\"format\":\"specgen.cassette\",\"version\":2}\nwhatever\n", "a");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::cassette_newer);
  EXPECT_EQ(newer.error().exit_code(), ExitCode::usage);
  auto foreign = parse_cassette("{\"format\":\"other\"}\n", "a");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::cassette_damaged);
  EXPECT_EQ(foreign.error().exit_code(), ExitCode::environment);
}

}  // namespace
}  // namespace specgen
