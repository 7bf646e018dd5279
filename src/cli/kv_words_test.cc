#include <gtest/gtest.h>

#include "cli/command_line.h"

namespace specgen {
namespace {

template <class Command>
Command parsed(std::vector<std::string> words) {
  auto invocation = parse_specgen(words);
  EXPECT_TRUE(invocation) << invocation.error().text();
  auto* command = invocation ? std::get_if<Command>(&invocation->what) : nullptr;
  EXPECT_TRUE(command);
  return command ? *command : Command{};
}

std::string complaint(std::vector<std::string> words) {
  auto invocation = parse_specgen(words);
  EXPECT_FALSE(invocation);
  if (invocation) return {};
  EXPECT_EQ(invocation.error().exit_code(), ExitCode::usage);
  return invocation.error().context;
}

TEST(KvWords, config_takes_a_model_or_a_shape_or_bytes) {
  auto config = parsed<ConfigureKv>(
      {"kv", "config", "--engine", "vllm", "--node", "a:1", "--model", "Qwen3-8B"});
  EXPECT_EQ(config.engine, "vllm");
  EXPECT_EQ(config.node, "a:1");
  EXPECT_EQ(config.model, "Qwen3-8B");
  config = parsed<ConfigureKv>({"kv", "config", "--engine", "sglang", "--layers", "32",
                                "--kv-heads", "8", "--head-dim", "128", "--dtype", "fp8",
                                "--prefill", "12000", "--tp", "4", "--json"});
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.prefill_tokens_per_s, 12000);
  EXPECT_EQ(config.tensor_parallel, 4);
  EXPECT_TRUE(config.json);
  const std::vector<std::string> base{"kv", "config", "--engine", "vllm"};
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = base;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(complaint({"kv", "config"}), "kv config needs --engine vllm, sglang or llamacpp");
  EXPECT_NE(complaint(with({"--layers", "32"})).find("a shape is"), std::string::npos);
  EXPECT_NE(complaint(with({"--model", "Qwen3-8B", "--bytes-per-token", "9"})).find("one of"),
            std::string::npos);
  EXPECT_NE(complaint(with({"--prefill", "0"})).find("above 0"), std::string::npos);
  EXPECT_NE(complaint(with({"--tp", "0"})).find("--tp"), std::string::npos);
  EXPECT_NE(complaint(with({"--node", "a:1", "--node", "b:1"})).find("one --node"),
            std::string::npos);
}

TEST(KvWords, a_gateway_needs_a_place_and_nodes) {
  auto gateway = parsed<ServeKvGateway>({"kv", "gateway", "--listen", "127.0.0.1:0", "--node",
                                         "a:1,weight=2", "--node", "b:1", "--threads", "3"});
  EXPECT_EQ(gateway.nodes, (std::vector<std::string>{"a:1,weight=2", "b:1"}));
  EXPECT_EQ(gateway.threads, 3);
  EXPECT_NE(complaint({"kv", "gateway", "--listen", "x:1"}).find("at least one"),
            std::string::npos);
  EXPECT_NE(complaint({"kv", "gateway", "--node", "x:1"}).find("--listen"), std::string::npos);
}

TEST(KvWords, stats_are_of_one_node) {
  EXPECT_EQ(parsed<ShowKvStats>({"kv", "stats", "--node", "unix:/run/kv"}).node, "unix:/run/kv");
  EXPECT_NE(complaint({"kv", "stats"}).find("one --node"), std::string::npos);
}

TEST(KvWords, another_action_is_named) {
  EXPECT_NE(complaint({"kv", "cofnig"}).find("'cofnig'"), std::string::npos);
  auto help = parse_specgen(std::vector<std::string>{"kv", "--help"});
  ASSERT_TRUE(help);
  EXPECT_NE(std::get<ShowText>(help->what).text.find("specgen kv gateway"), std::string::npos);
}

}  // namespace
}  // namespace specgen
