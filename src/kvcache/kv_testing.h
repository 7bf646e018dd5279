#pragma once
// Shared by the tests of this module: a small store, and values whose bytes follow from their keys.

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "kvcache/kv_store.h"

namespace specgen::kv_testing {

// All memory is faulted in at once; the drain has 8 MiB of it.
inline std::unique_ptr<KvStore> open_store(Bytes host, KvStoreSettings settings = {}) {
  settings.host = host;
  settings.drain = std::min(settings.drain, MiB(8));
  settings.ready_at_open = host;
  auto store = KvStore::open(std::move(settings));
  SG_ASSERT(store, "the store does not open");
  return std::move(*store);
}

// Different for every key and every KiB of a value.
inline std::string bytes_of(std::string_view key, std::size_t bytes) {
  std::uint64_t at = 0x9e3779b97f4a7c15;
  for (char c : key) at = (at ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string block(std::min<std::size_t>(bytes, 1024), '\0');
  for (char& c : block) {
    at = at * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(at >> 56);
  }
  std::string value;
  value.reserve(bytes);
  for (std::uint64_t number = 0; value.size() < bytes; ++number) {
    std::memcpy(block.data(), &number, std::min(sizeof number, block.size()));
    value.append(block, 0, bytes - value.size());
  }
  return value;
}

inline void fill(KvStore::Writer& writer, std::string_view value) {
  while (writer.left() > 0) {
    writer.for_piece(value.size(), [&](std::span<char> target) {
      std::memcpy(target.data(), value.data(), target.size());
      value.remove_prefix(target.size());
      return target.size();
    });
  }
}

inline void set(KvStore& store, std::string_view key, std::string_view value,
                std::string_view after = {}, std::optional<Duration> time_to_live = std::nullopt) {
  auto writer = store.write(key, value.size(), after, time_to_live);
  fill(*writer, value);
  writer->publish();
}

// The rest of the value from `offset`.
inline std::optional<std::string> rest_of(KvStore::Reader& reader, std::size_t offset = 0) {
  std::string value;
  while (offset + value.size() < reader.bytes()) {
    auto taken = reader.for_piece(offset + value.size(), 1 << 18, [&](std::span<const char> piece) {
      value.append(piece.data(), piece.size());
      return piece.size();
    });
    if (!taken) return std::nullopt;
  }
  return value;
}

inline std::optional<std::string> get(KvStore& store, std::string_view key,
                                      std::string_view after = {}) {
  auto reader = store.read(key, after);
  if (!reader) return std::nullopt;
  return rest_of(*reader);
}

}  // namespace specgen::kv_testing
