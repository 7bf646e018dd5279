#pragma once
// What the key of a stored value tells. Engines' clients build keys of parts with @ between them:
//
//   model@world_size@worker_id@chunk_hash@dtype[@name%value ...]     LMCache in the engine's process
//   model@kv_rank@object_group@chunk_hash[@salt]                     LMCache as a process of its own
//
// and one of them stores two values for a chunk, KEYkv_bytes and KEYmetadata, which are of no use without each other.
// Any other key is as good: it has no task. Pure.

#include <cstdint>
#include <string_view>

namespace specgen {

enum class KvPart : std::uint8_t { whole, bytes, metadata };

struct KvKey {
  std::string_view base;  // what the parts of a pair share
  KvPart part = KvPart::whole;
  std::string_view task;    // the salt, or the value of the tag `task`; empty if there is none
  std::string_view series;  // model and rank: chunks of one prompt agree in it
};

// Views into `key`.
KvKey parse_kv_key(std::string_view key);

}  // namespace specgen
