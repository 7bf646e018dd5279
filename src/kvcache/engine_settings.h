#pragma once
// The files and command lines that make an LLM server keep its KV prefixes in a node, in full, including the two
// settings that are off by default and without which forks find nothing (storing generated tokens; recomputing a
// prefix that is gone). Pure.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kvcache/kv_address.h"

namespace specgen {

enum class Engine : std::uint8_t { vllm, sglang, llamacpp };
Result<Engine> engine_named(std::string_view name);
std::string_view to_string(Engine engine);

struct SettingsBlock {
  std::string title;  // "lmcache.yaml", "start the cache server"
  bool is_file = false;
  std::string text;
};

struct EngineSettings {
  std::vector<SettingsBlock> blocks;
  std::vector<std::string> notes;  // further conditions, one sentence each
};

struct EngineSettingsRequest {
  Engine engine = Engine::vllm;
  KvAddress node;
  std::string model = "MODEL";
  int chunk = 256;  // tokens
  bool password = false;
};

EngineSettings engine_settings(const EngineSettingsRequest& request);

}  // namespace specgen
