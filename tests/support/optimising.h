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

// Nothing: it still runs after that time.
inline Task<std::optional<Exit>> race_to_the_end(Loop& loop, Process& process, Duration limit) {
  auto outcome = co_await race(process.wait(), loop.sleep(limit));
  if (auto* exit = outcome.first()) co_return *exit;
  co_return std::nullopt;
}

class Optimising : public testing::Test {
 protected:
  Finished optimize(std::vector<std::string> words, Duration limit = std::chrono::minutes(4)) {
    Command command = command_of(std::move(words));
    command.time_limit = limit;
    return fixture_.fixture.run(fixture_.fixture.processes.run(std::move(command))).value();
  }
  Command command_of(std::vector<std::string> words) {
    words.insert(words.begin(), {SPECGEN_BINARY, "optimize"});
    return fixture_.command(std::move(words));
  }
  Json json_of(const Finished& finished) {
    auto json = parse_json(finished.output);
    EXPECT_TRUE(json) << finished.output << finished.error_output;
    return json ? std::move(*json) : Json();
  }
  std::string path(const std::string& name) { return (fixture_.folder.path() / name).string(); }

  ProgramFixture fixture_{SPECGEN_TEST_CACHE};
};

}  // namespace specgen
