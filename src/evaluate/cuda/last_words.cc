#include "evaluate/cuda/last_words.h"

#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "runtime/race.h"

namespace specgen {

Task<std::string> last_words(Loop& loop, Process& process) {
  constexpr std::size_t kMax = 65536, kTold = 2000;
  Exit exit;
  auto ended = co_await race(process.wait(), loop.sleep(std::chrono::seconds(1)));
  if (auto* by_itself = ended.first()) {
    exit = *by_itself;
  } else {
    process.kill();
    exit = co_await process.wait();
  }
  std::string text;
  std::array<char, 4096> buffer;
  while (process.error_output && text.size() < kMax) {
    auto read = co_await race(process.error_output->read_some(buffer),
                              loop.sleep(std::chrono::milliseconds(200)));
    auto* bytes = read.first();
    if (!bytes || !*bytes || **bytes == 0) break;
    text.append(buffer.data(), **bytes);
  }
  std::string_view words = trim(text);
  if (words.empty()) co_return to_string(exit);
  if (words.size() > kTold) words.remove_prefix(words.size() - kTold);
  co_return fmt::format("{}: {}", to_string(exit), words);
}

}  // namespace specgen
