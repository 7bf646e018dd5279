#pragma once
// The files of the source tree that git does not ignore, for tests that check the tree itself.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tree/tidy.h"

namespace specgen::tidy {

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Paths relative to the root, in alphabetical order.
inline std::vector<std::string> files_of(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  const std::string gitignore = content_of(root / ".gitignore");
  std::vector<std::string> all;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    std::string path = entry->path().lexically_relative(root).generic_string();
    bool is_folder = entry->is_directory() && !entry->is_symlink();
    if (is_ignored(path, is_folder, gitignore)) {
      if (is_folder) entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && !entry->is_symlink()) {
      all.push_back(path);
    }
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace specgen::tidy
