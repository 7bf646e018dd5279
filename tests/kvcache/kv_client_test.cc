// The client library as shipped: a header and a shared object, used by a C program with a node.

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "kvcache/node_client.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(KvClientLibrary, is_used_from_plain_c) {
  RealRuntime runtime;
  Processes processes(runtime.loop, runtime.driver);
  auto folder = TemporaryFolder::make().value();
  std::string program = (folder.path() / "kv_client").string(),
              shm_socket = (folder.path() / "shm").string();
  std::string listen = "unix:" + (folder.path() / "node").string();
  auto compiled = runtime.loop.run(processes.run(
      {.argv = {SPECGEN_TEST_COMPILER, "-x", "c", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall",
                "-Wextra", "-Wpedantic", "-Werror", "-I" SPECGEN_SOURCE_DIR "/src/kvcache/client",
                SPECGEN_SOURCE_DIR "/tests/kvcache/kv_client.c", "-o", program, "-nostdlib++",
                "-L" SPECGEN_BINARY_FOLDER, "-lspecgen_kv", "-Wl,-rpath," SPECGEN_BINARY_FOLDER}}));
  ASSERT_TRUE(compiled) << compiled.error().text();
  ASSERT_TRUE(compiled->exit.ok()) << compiled->error_output;

  Process node = processes
                     .spawn({.argv = {SPECGEN_BINARY_FOLDER "/specgen-node", "--kv", "128MiB",
                                      "--kv-listen", listen, "--kv-lane", shm_socket}})
                     .value();
  // The transport is opened after the server: once it exists, both are ready.
  for (int i = 0; i < 1000 && !std::filesystem::exists(shm_socket); ++i)
    runtime.loop.run(nap(runtime.loop, 10ms));
  auto used = runtime.loop.run(processes.run({.argv = {program, shm_socket}}));
  ASSERT_TRUE(used) << used.error().text();
  EXPECT_TRUE(used->exit.ok()) << used->error_output;
  EXPECT_EQ(used->output, "ok\n");

  // Values stored through shared memory are visible to all clients.
  auto client = NodeClient::connect(parse_kv_address(listen).value()).value();
  std::string value(1 << 20, '\0');
  ASSERT_TRUE(client.get("chunk7", value).value());
  for (std::size_t i = 0; i < value.size(); i += 1001)
    ASSERT_EQ(value[i], static_cast<char>(i * 7));
}

}  // namespace
}  // namespace specgen
