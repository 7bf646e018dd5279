// Any bytes as a configuration file: an error or a table, never a crash.

#include <cstdint>

#include "base/toml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto file = specgen::TomlFile::parse({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
  if (!file) return 0;
  specgen::TomlTable& root = file->root();
  root.text("name");
  root.integer("count");
  root.number("ratio");
  root.flag("on");
  root.texts("list");
  root.table("tools").text("python");
  for (specgen::TomlTable* row : root.tables("row")) row->names();
  (void)file->finish();
  return 0;
}
