#pragma once
// What a user writes where so that an engine keeps its KV prefixes in a node: files and command lines in full, with
// the two settings that are off by default and without which forks find nothing (tokens that were generated are
// stored, a prefix that is gone is computed again). Pure: asks nobody.

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
  std::vector<std::string> notes;  // what else must hold, a sentence each
};

struct EngineQuestion {
  Engine engine = Engine::vllm;
  KvAddress node;
  std::string model = "MODEL";
  int chunk = 256;  // tokens
  bool password = false;
};

EngineSettings engine_settings(const EngineQuestion& question);

}  // namespace specgen
