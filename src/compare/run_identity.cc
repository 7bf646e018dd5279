#include "compare/run_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// One line per file. None for a missing folder: loading it reports the error.
Result<std::string> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code trouble;
  for (fs::directory_iterator entry(folder, trouble), end; !trouble && entry != end;
       entry.increment(trouble)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  std::ranges::sort(files);
  std::string lines;
  for (const fs::path& file : files) {
    std::string text = TRY(read_file(file));
    lines += fmt::format("{} {}\n", file.filename().string(), sha256_hex(text));
  }
  return lines;
}

}  // namespace

Result<std::string> run_identity(std::string_view version, const DataFolders& folders) {
  constexpr std::size_t kDigits = 16;
  std::string files;
  for (const auto& [kind, places] :
       {std::pair{"prompts", &folders.prompts}, std::pair{"triggers", &folders.triggers}}) {
    for (const fs::path& place : *places) {
      files += fmt::format("{}\n{}", kind, TRY(files_of(place)));
    }
  }
  return fmt::format("specgen {}, runs {}, prompts and triggers {}", version, kRunVersion,
                     sha256_hex(files).substr(0, kDigits));
}

}  // namespace specgen
