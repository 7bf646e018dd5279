#include "schedule/node_process.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "evaluate/host/fake_tools.h"
#include "evaluate/node/frames.h"
#include "schedule/host_client.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

const Json kHello{{"event", "hello"},
                  {"protocol", 1},
                  {"specgen_version", "test"},
                  {"lanes", 1},
                  {"devices", {{{"id", "cpu:0"}, {"name", "fake"}}}}};

// Shell scripts in the place of specgen-node.
struct NodeProcessTest : testing::Test {
  NodeProcess node(std::string_view script) {
    return NodeProcess(fixture.loop, fixture.processes,
                       {.name = "fake", .argv = {fakes.add("fake-node", script)}});
  }
  // A script that prints these bytes.
  std::string saying(std::string_view bytes) {
    std::filesystem::path file = fakes.path() / "frames";
    SG_ASSERT(write_file_durably(file, bytes).has_value(), "a file cannot be written");
    return "cat " + file.string() + "\n";
  }
  Result<HostFacts> hello(NodeProcess& host) {
    HostClient client(fixture.loop, host);
    return fixture.run(client.hello());
  }

  FakeTools fakes;
  ToolFixture fixture;
};

TEST_F(NodeProcessTest, connects) {
  NodeProcess host = node(saying(framed(kHello)) + "cat >/dev/null\n");
  auto facts = hello(host);
  ASSERT_TRUE(facts.has_value()) << facts.error().text();
  EXPECT_EQ(facts->devices[0].id, "cpu:0");
}

TEST_F(NodeProcessTest, a_missing_program_is_an_error_of_the_environment) {
  NodeProcess host(fixture.loop, fixture.processes, {.argv = {"/nonexistent/specgen-node"}});
  auto facts = hello(host);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().exit_code(), ExitCode::environment);
}

TEST_F(NodeProcessTest, an_error_has_the_exit_status_and_the_end_of_stderr) {
  NodeProcess host = node("echo 'error E604: no such device' >&2\nexit 3\n");
  auto facts = hello(host);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code, ErrorCode::device_missing);
  EXPECT_NE(facts.error().context.find("exit code 3: error E604: no such device"),
            std::string::npos)
      << facts.error().text();
}

TEST_F(NodeProcessTest, output_that_is_not_frames_is_a_bad_message) {
  NodeProcess host = node("echo 'Welcome to gpu1! Your password expires soon.'\ncat >/dev/null\n");
  auto facts = hello(host);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code, ErrorCode::bad_message);
}

TEST_F(NodeProcessTest, is_killed_with_its_link) {
  NodeProcess host = node(saying(framed(kHello)) + "sleep 1000 &\nsleep 1000\n");
  {
    HostClient client(fixture.loop, host);
    ASSERT_TRUE(fixture.run(client.hello()).has_value());
    EXPECT_EQ(fixture.processes.alive(), 1U);
  }
  fixture.run(fixture.processes.drain());
  EXPECT_EQ(fixture.processes.alive(), 0U);
}

TEST_F(NodeProcessTest, its_jobs_fail_when_it_dies) {
  NodeProcess host = node(saying(framed(kHello)) + "head -c 10 >/dev/null\nkill -9 $$\n");
  HostClient client(fixture.loop, host);
  Candidate candidate;
  StageJob job;
  job.candidate = &candidate;
  auto compiled = fixture.run(client.perform(job));
  ASSERT_FALSE(compiled.has_value());
  EXPECT_EQ(compiled.error().code, ErrorCode::harness_failed);
  EXPECT_NE(compiled.error().context.find("signal 9"), std::string::npos)
      << compiled.error().text();
}

TEST_F(NodeProcessTest, the_queue_to_a_node_that_does_not_read_is_bounded) {
  NodeProcess host = node(saying(framed(kHello)) + "sleep 1000\n");
  auto link = fixture.run(host.connect());
  ASSERT_TRUE(link.has_value());
  Result<void> sent;
  for (int i = 0; i < 100'000 && sent; ++i) sent = (*link)->send({{"job", i}});
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, ErrorCode::harness_failed);
}

TEST_F(NodeProcessTest, gets_the_devices_as_arguments) {
  NodeProcess host(fixture.loop, fixture.processes,
                   {.argv = {fakes.add("fake-node", "echo \"$@\" >&2\nexit 1\n")},
                    .devices = {"cpu:0", "cuda:1"}});
  auto facts = hello(host);
  ASSERT_FALSE(facts.has_value());
  EXPECT_NE(facts.error().context.find("--devices cpu:0,cuda:1"), std::string::npos)
      << facts.error().text();
}

}  // namespace
}  // namespace specgen
