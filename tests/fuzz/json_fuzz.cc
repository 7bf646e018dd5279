// Any bytes as JSON: an error, or a value that prints and reads back equal.

#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto value = specgen::parse_json({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  auto again = specgen::parse_json(specgen::pretty_json(*value));
  if (!again || *again != *value) std::abort();
  return 0;
}
