// A journal file with damaged bytes: refused and left as it was, or opened with entries that are
// all right. The input is a list of (position, byte) changes to a good file; wholly random bytes
// would never look like SQLite.

#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "journal/sqlite_file.h"

namespace fs = std::filesystem;
using specgen::Entry;
using specgen::SqliteFile;

namespace {

const fs::path& folder() {
  static const fs::path kFolder = [] {
    std::string pattern = (fs::temp_directory_path() / "specgen-fuzz-XXXXXX").string();
    std::atexit([] { fs::remove_all(folder()); });
    return fs::path(::mkdtemp(pattern.data()));
  }();
  return kFolder;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string& good_file() {
  static const std::string kGood = [] {
    auto file = SqliteFile::open(folder() / "good.db");
    std::vector<Entry> entries;
    for (std::uint64_t i = 1; i <= 30; ++i)
      entries.push_back({i, {1000}, "step", std::string(150, 'x')});
    if (!file || !file->append(entries)) std::abort();
    {
      SqliteFile closing = std::move(*file);
    }
    return contents(folder() / "good.db");
  }();
  return kGood;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes = good_file();
  for (; size >= 5; data += 5, size -= 5) {
    std::uint32_t position;
    std::memcpy(&position, data, 4);
    bytes[position % bytes.size()] = static_cast<char>(data[4]);
  }
  fs::path path = folder() / "damaged.db";
  fs::remove(path.string() + "-wal");
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  auto file = SqliteFile::open(path);
  if (!file) {
    if (contents(path) != bytes) std::abort();  // a refused file was changed
    return 0;
  }
  std::vector<Entry> entries = file->take_entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].sequence != i + 1 || entries[i].body != std::string(150, 'x')) std::abort();
  }
  return 0;
}
