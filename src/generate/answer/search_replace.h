#pragma once
// Changes to a source as models write them:
//
//   <<<<<<< SEARCH
//   existing lines
//   =======
//   new lines
//   >>>>>>> REPLACE
//
// in a fence or not, any number of hunks. A hunk is searched exactly, then ignoring white
// space. Pure; linear in the source for each hunk.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct Hunk {
  std::string search;   // complete lines, each ended by \n
  std::string replace;  // the same
};

struct Hunks {
  std::vector<Hunk> hunks;
  bool cut_off = false;  // the last one is incomplete
  std::size_t end = 0;   // offset after the last hunk
};

Hunks find_hunks(std::string_view text);

// The source after one change, every line ended by \n; nullopt if the place is not found. Of several
// places the first is changed.
std::optional<std::string> apply_hunk(std::string_view source, const Hunk& hunk);

}  // namespace specgen
