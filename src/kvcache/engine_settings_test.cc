#include "kvcache/engine_settings.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

std::string all_of(const EngineSettings& settings) {
  std::string text;
  for (const SettingsBlock& block : settings.blocks) text += block.text + "\n";
  return text;
}

EngineSettings settings_for(Engine engine, std::string_view node, bool password = false) {
  EngineSettingsRequest question;
  question.engine = engine;
  question.node = parse_kv_address(node).value();
  question.chunk = 32;
  question.password = password;
  return engine_settings(question);
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(EngineSettings, vllm_stores_generated_tokens_and_survives_a_lost_prefix) {
  std::string text = all_of(settings_for(Engine::vllm, "10.0.0.2:6380"));
  for (std::string_view part :
       {R"("kv_load_failure_policy":"recompute")", R"("lmcache.mp.save_decode_cache":true)",
        R"("type":"resp")", R"("host":"10.0.0.2","port":6380)", R"("max_capacity_gb":0)",
        "--chunk-size 32", "--hash-algorithm blake3", "PYTHONHASHSEED=0",
        R"("kv_connector":"LMCacheMPConnector")"}) {
    EXPECT_TRUE(holds(text, part)) << part << " in\n" << text;
  }
  EXPECT_FALSE(holds(text, "password"));
  EXPECT_TRUE(holds(all_of(settings_for(Engine::vllm, "h:1", true)), R"("password":"PASSWORD")"));
}

TEST(EngineSettings, a_unix_socket_uses_lmcache_inside_the_engine) {
  std::string text = all_of(settings_for(Engine::vllm, "unix:/run/kv.sock"));
  for (std::string_view part :
       {"remote_url: \"unix:///run/kv.sock\"", "save_decode_cache: true",
        "pre_caching_hash_algorithm: sha256_cbor", R"("kv_connector":"LMCacheConnectorV1")",
        R"("kv_load_failure_policy":"recompute")", "LMCACHE_CONFIG_FILE=lmcache.yaml"}) {
    EXPECT_TRUE(holds(text, part)) << part << " in\n" << text;
  }
}

TEST(EngineSettings, sglang_and_its_cache_server_agree_on_a_port) {
  std::string text = all_of(settings_for(Engine::sglang, "h:6380"));
  for (std::string_view part :
       {"--port 6555", "mp_port: 6555", "--enable-lmcache", "--lmcache-config-file lmcache.yaml"}) {
    EXPECT_TRUE(holds(text, part)) << part << " in\n" << text;
  }
}

TEST(EngineSettings, llamacpp_settings_explain_that_the_node_is_not_used) {
  EngineSettings settings = settings_for(Engine::llamacpp, "h:6380");
  EXPECT_TRUE(holds(all_of(settings), "--slot-save-path"));
  EXPECT_TRUE(holds(settings.notes.at(0), "no client"));
}

TEST(KvAddresses, are_host_and_port_or_a_path) {
  EXPECT_EQ(parse_kv_address("node1:6380").value().text(), "node1:6380");
  EXPECT_EQ(parse_kv_address("[::1]:6380").value().text(), "[::1]:6380");
  EXPECT_EQ(parse_kv_address("unix:/run/kv").value().path, "/run/kv");
  for (const char* wrong : {"", "node1", ":6380", "node1:", "node1:x", "node1:70000", "unix:"}) {
    EXPECT_FALSE(parse_kv_address(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace specgen
