#pragma once
// Parses the key of a stored value. The clients of LLM servers build keys from parts separated by @:
//
//   model@world_size@worker_id@chunk_hash@dtype[@name%value ...]     LMCache in the server's process
//   model@kv_rank@object_group@chunk_hash[@salt]                     LMCache as a process of its own
//
// One of them stores two values per chunk, KEYkv_bytes and KEYmetadata, which are useless without each other. Any
// other key is valid too and has no task. Pure.

#include <cstdint>
#include <string_view>

namespace specgen {

enum class KvPart : std::uint8_t { single, bytes, metadata };

struct KvKey {
  std::string_view base;  // shared by the parts of a pair
  KvPart part = KvPart::single;
  std::string_view task;    // the salt, or the value of the tag `task`; may be empty
  std::string_view series;  // model and rank: equal for all chunks of a prompt
};

// Views into `key`.
KvKey parse_kv_key(std::string_view key);

}  // namespace specgen
