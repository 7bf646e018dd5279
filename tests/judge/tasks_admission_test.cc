// The checker of every shipped task distinguishes correct outputs from wrong ones. Takes about a minute.

#include <gtest/gtest.h>

#include "support/program_fixture.h"

namespace specgen {
namespace {

TEST(ShippedTasks, are_all_admitted) {
  ProgramFixture host(SPECGEN_TEST_CACHE);
  Command command = host.command({SPECGEN_BINARY, "tasks", SPECGEN_SOURCE_DIR "/tasks", "--check"});
  command.time_limit = std::chrono::minutes(8);
  auto finished = host.fixture.run(host.fixture.processes.run(std::move(command)));
  ASSERT_TRUE(finished.has_value()) << finished.error().text();
  EXPECT_EQ(finished->exit.code, 0) << finished->output << finished->error_output;
  EXPECT_NE(finished->output.find("\n12 tasks admitted, 0 refused"), std::string::npos);
}

}  // namespace
}  // namespace specgen
