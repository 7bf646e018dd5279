#pragma once
// Changes to a source as models write them:
//
//   <<<<<<< SEARCH
//   what stands there
//   =======
//   what shall stand there
//   >>>>>>> REPLACE
//
// in a fence or not, one hunk after another. A hunk is looked for exactly, then without regard to white
// space. Pure; linear in the source for each hunk.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct Hunk {
  std::string search;   // whole lines, each ended by \n
  std::string replace;  // the same
};

struct Hunks {
  std::vector<Hunk> hunks;
  bool cut_off = false;  // the last one is not whole
  std::size_t end = 0;   // in the text, after the last of their lines
};

Hunks find_hunks(std::string_view text);

// The source, with \n at every line's end, after one change; nothing if it has no such place. Of several
// places the first is changed.
std::optional<std::string> apply_hunk(std::string_view source, const Hunk& hunk);

}  // namespace specgen
