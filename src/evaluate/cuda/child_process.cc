#include "evaluate/cuda/child_process.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/text.h"
#include "runtime/race.h"

namespace specgen {

std::vector<std::string> cuda_environment() {
  constexpr std::array<std::string_view, 9> kKept{"CUDA_HOME=",
                                                  "CUDA_PATH=",
                                                  "CUDA_VISIBLE_DEVICES=",
                                                  "CUDA_DEVICE_ORDER=",
                                                  "NVIDIA_",
                                                  "LD_LIBRARY_PATH=",
                                                  "PATH=",
                                                  "HOME=",
                                                  "TMPDIR="};
  std::vector<std::string> environment = whole_environment();
  std::erase_if(environment, [&](const std::string& entry) {
    return std::ranges::none_of(kKept,
                                [&](std::string_view prefix) { return entry.starts_with(prefix); });
  });
  return environment;
}

Task<std::string> exit_report(Loop& loop, Process& process) {
  constexpr std::size_t kMaxRead = 65536, kMaxReported = 2000;
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
  while (process.error_output && text.size() < kMaxRead) {
    auto read = co_await race(process.error_output->read_some(buffer),
                              loop.sleep(std::chrono::milliseconds(200)));
    auto* bytes = read.first();
    if (!bytes || !*bytes || **bytes == 0) break;
    text.append(buffer.data(), **bytes);
  }
  std::string_view message = trim(text);
  if (message.empty()) co_return to_string(exit);
  if (message.size() > kMaxReported) message.remove_prefix(message.size() - kMaxReported);
  co_return fmt::format("{}: {}", to_string(exit), message);
}

}  // namespace specgen
