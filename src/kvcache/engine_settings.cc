#include "kvcache/engine_settings.h"

#include <fmt/core.h>

namespace specgen {
namespace {

constexpr int kCacheServerPort = 6555;

constexpr std::string_view kSaltNote =
    "Send the same cache_salt with all requests of one task (vLLM: the field \"cache_salt\" of a "
    "request): it becomes "
    "part of the keys, so that the node can keep, limit and drop a task's prefixes together. Forks "
    "with another salt "
    "share nothing.";
constexpr std::string_view kSeedNote =
    "PYTHONHASHSEED and the hash algorithm must be the same in every process that shares the node, "
    "or their keys "
    "differ and nothing is ever found.";
constexpr std::string_view kLayoutNote =
    "A node serves one layout: engines of another version, dtype or tensor-parallel size get a "
    "node, or a model name, of "
    "their own.";

std::string cache_server(const EngineSettingsRequest& request) {
  std::string secret = request.password ? R"("password":"PASSWORD",)" : "";
  return fmt::format(
      "PYTHONHASHSEED=0 lmcache server --port {} --l1-size-gb 10 --eviction-policy LRU "
      "--chunk-size {} "
      "--hash-algorithm blake3 \\\n  --l2-adapter "
      R"('{{"type":"resp","host":"{}","port":{},{}"num_workers":8,"max_capacity_gb":0}}')",
      kCacheServerPort, request.chunk, request.node.host, request.node.port, secret);
}

// LMCache inside the server's process: the only way to use a Unix socket.
std::string in_process_file(const EngineSettingsRequest& request) {
  std::string secret = request.password ? ":PASSWORD@" : "";
  std::string url = request.node.is_unix() ? fmt::format("unix://{}", request.node.path)
                                           : fmt::format("redis://{}{}:{}", secret,
                                                         request.node.host, request.node.port);
  return fmt::format(
      "chunk_size: {}\n"
      "local_cpu: true\n"
      "max_local_cpu_size: 5.0\n"
      "remote_url: \"{}\"\n"
      "remote_serde: \"naive\"\n"
      "save_decode_cache: true\n"
      "pre_caching_hash_algorithm: sha256_cbor\n",
      request.chunk, url);
}

EngineSettings for_vllm(const EngineSettingsRequest& request) {
  EngineSettings settings;
  if (request.node.is_unix()) {
    settings.blocks.push_back({"lmcache.yaml", true, in_process_file(request)});
    settings.blocks.push_back(
        {"start vLLM", false,
         fmt::format(
             "PYTHONHASHSEED=0 LMCACHE_CONFIG_FILE=lmcache.yaml vllm serve {} "
             "--prefix-caching-hash-algo "
             "sha256_cbor \\\n  --kv-transfer-config "
             R"('{{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both","kv_load_failure_policy":"recompute"}}')",
             request.model)});
    settings.notes.emplace_back(
        "LMCache's faster client supports TCP only: over a Unix socket its Python client is used, "
        "which is about ten times "
        "slower. Use HOST:PORT, or the shared-memory transport of docs/guide/kvcache.md, where "
        "speed "
        "matters.");
    settings.notes.emplace_back(
        "Without cache_salt in this mode: \"kv_transfer_params\": {\"lmcache.tag.task\": \"TASK\"} "
        "of a request puts the "
        "task into its keys.");
  } else {
    settings.blocks.push_back(
        {"start the cache server, beside vLLM", false, cache_server(request)});
    settings.blocks.push_back(
        {"start vLLM", false,
         fmt::format(
             "PYTHONHASHSEED=0 vllm serve {} \\\n  --kv-transfer-config "
             R"('{{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute",)"
             R"("kv_connector_extra_config":{{"lmcache.mp.host":"tcp://localhost","lmcache.mp.port":{},)"
             R"("lmcache.mp.save_decode_cache":true}}}}')",
             request.model, kCacheServerPort)});
    settings.notes.emplace_back(
        "lmcache.mp.save_decode_cache is for LMCache versions that store generated tokens only "
        "when asked to; earlier ones "
        "store them always and do not know the name.");
  }
  settings.notes.emplace_back(
      "kv_load_failure_policy is \"fail\" by default: a prefix that an evaluation took back would "
      "end the request.");
  settings.notes.emplace_back(kSaltNote);
  settings.notes.emplace_back(kSeedNote);
  settings.notes.emplace_back(kLayoutNote);
  return settings;
}

EngineSettings for_sglang(const EngineSettingsRequest& request) {
  EngineSettings settings;
  if (request.node.is_unix()) {
    settings.notes.emplace_back(
        "SGLang reaches the node through LMCache's server, whose client supports TCP only: let the "
        "node listen on "
        "HOST:PORT. The commands below use 127.0.0.1:6380 instead.");
  }
  EngineSettingsRequest over_tcp = request;
  if (request.node.is_unix()) over_tcp.node = {.host = "127.0.0.1", .port = 6380, .path = {}};
  settings.blocks.push_back(
      {"start the cache server, beside SGLang", false, cache_server(over_tcp)});
  settings.blocks.push_back(
      {"lmcache.yaml", true, fmt::format("mp_host: 127.0.0.1\nmp_port: {}\n", kCacheServerPort)});
  settings.blocks.push_back({"start SGLang", false,
                             fmt::format("PYTHONHASHSEED=0 python3 -m sglang.launch_server "
                                         "--model-path {} --enable-lmcache --lmcache-config-file "
                                         "lmcache.yaml",
                                         request.model)});
  settings.notes.emplace_back(
      "Whether SGLang stores generated tokens through LMCache was not verified: check that the "
      "node's sets grow while it "
      "generates (specgen kv stats).");
  settings.notes.emplace_back(
      "SGLang was reported to leave cache_salt out of LMCache's keys; then the node knows no "
      "tasks: nothing is kept or "
      "dropped by task, the rest works.");
  settings.notes.emplace_back(kSeedNote);
  settings.notes.emplace_back(kLayoutNote);
  return settings;
}

EngineSettings for_llamacpp(const EngineSettingsRequest& request) {
  EngineSettings settings;
  settings.blocks.push_back(
      {"start llama-server", false,
       fmt::format(
           "llama-server -m {} --slots --slot-save-path /dev/shm/specgen-slots/ --cache-ram 8192",
           request.model)});
  settings.blocks.push_back({"at a fork's place, then for each fork", false,
                             "curl -X POST 'http://127.0.0.1:8080/slots/0?action=save'    -d "
                             "'{\"filename\":\"TASK.bin\"}'\n"
                             "curl -X POST 'http://127.0.0.1:8080/slots/1?action=restore' -d "
                             "'{\"filename\":\"TASK.bin\"}'"});
  settings.notes.emplace_back(
      "llama.cpp has no client for a remote store: states are saved to files in memory on its own "
      "host. "
      "The node is not used, and "
      "does not give that memory back to evaluations.");
  settings.notes.emplace_back(
      "A state is saved and restored whole, not by shared chunks. Forks on the same server need "
      "none of this: it reuses the "
      "longest prefix that one of its slots has (cache_prompt).");
  return settings;
}

}  // namespace

Result<Engine> engine_named(std::string_view name) {
  for (Engine engine : {Engine::vllm, Engine::sglang, Engine::llamacpp}) {
    if (name == to_string(engine)) return engine;
  }
  return fail(ErrorCode::bad_usage,
              fmt::format("--engine: '{}' is none of vllm, sglang, llamacpp", name));
}

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::vllm:
      return "vllm";
    case Engine::sglang:
      return "sglang";
    case Engine::llamacpp:
      break;
  }
  return "llamacpp";
}

EngineSettings engine_settings(const EngineSettingsRequest& request) {
  switch (request.engine) {
    case Engine::vllm:
      return for_vllm(request);
    case Engine::sglang:
      return for_sglang(request);
    case Engine::llamacpp:
      break;
  }
  return for_llamacpp(request);
}

}  // namespace specgen
