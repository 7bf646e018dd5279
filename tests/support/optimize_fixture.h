#pragma once
// For tests of `specgen optimize` as a user runs it: the author as the model, real compilers, judges and timings.

#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "runtime/race.h"
#include "support/program_fixture.h"

namespace specgen {

inline const std::string kTasks = SPECGEN_SOURCE_DIR "/tasks/";

// Nothing if the process still runs after that time.
inline Task<std::optional<Exit>> wait_for_exit(Loop& loop, Process& process, Duration limit) {
  auto outcome = co_await race(process.wait(), loop.sleep(limit));
  if (auto* exit = outcome.first()) co_return *exit;
  co_return std::nullopt;
}

class OptimizeTest : public testing::Test {
 protected:
  Finished optimize(std::vector<std::string> arguments, Duration limit = std::chrono::minutes(4)) {
    Command command = command_of(std::move(arguments));
    command.time_limit = limit;
    return fixture_.fixture.run(fixture_.fixture.processes.run(std::move(command))).value();
  }
  Command command_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {SPECGEN_BINARY, "optimize"});
    return fixture_.command(std::move(arguments));
  }
  Json json_of(const Finished& finished) {
    auto json = parse_json(finished.output);
    EXPECT_TRUE(json) << finished.output << finished.error_output;
    return json ? std::move(*json) : Json();
  }
  std::string path(const std::string& name) { return (fixture_.folder.path() / name).string(); }

  ProgramFixture fixture_{SPECGEN_TEST_CACHE};
};

// Reads until `text` is in what was read, or the stream ends.
inline Task<std::string> read_until(AsyncFd& from, std::string text) {
  std::string read;
  while (!read.contains(text)) {
    std::array<char, 4096> piece{};
    std::size_t size = (co_await from.read_some(piece)).value_or(0);
    if (size == 0) break;
    read.append(piece.data(), size);
  }
  co_return read;
}

}  // namespace specgen
