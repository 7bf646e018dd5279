#include "evaluate/node/frames.h"

#include <fmt/core.h>

#include <array>

namespace specgen {
namespace {

constexpr std::size_t kHeader = 4;

std::size_t length_in(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kHeader; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(header[i])) << (8 * i);
  }
  return length;
}

}  // namespace

Task<Result<std::optional<std::string>>> FrameReader::next() {
  while (true) {
    if (buffered_.size() >= kHeader) {
      std::size_t length = length_in(buffered_);
      if (length > kLargestFrame) {
        co_return fail(ErrorCode::bad_message, fmt::format("a frame of {} bytes", length));
      }
      if (buffered_.size() >= kHeader + length) {
        std::string body = buffered_.substr(kHeader, length);
        buffered_.erase(0, kHeader + length);
        co_return body;
      }
    }
    std::array<char, 1 << 16> bytes;
    std::size_t n = CO_TRY(co_await pipe_.read_some(bytes));
    if (n == 0 && buffered_.empty()) co_return std::nullopt;
    if (n == 0) co_return fail(ErrorCode::bad_message, "the stream ends inside a frame");
    buffered_.append(bytes.data(), n);
  }
}

std::string framed(const Json& value) {
  std::string body = compact_json(value);
  std::string frame;
  for (std::size_t i = 0; i < kHeader; ++i) {
    frame += static_cast<char>((body.size() >> (8 * i)) & 0xff);
  }
  return frame + body;
}

}  // namespace specgen
