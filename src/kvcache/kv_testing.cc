#include "kvcache/kv_testing.h"

#include "kvcache/kv_state.h"

namespace specgen::kv_testing {

void damage(KvStore& store, std::string_view key, std::size_t offset) {
  auto reading = store.state().find(key, {});
  reading->value()->memory.from(offset)[0] ^= 1;
  store.state().end(reading);
}

}  // namespace specgen::kv_testing
