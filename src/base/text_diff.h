#pragma once
// Line-by-line difference of two texts: runs of equal, removed and added lines. Pure functions.
//
// The result is minimal (Myers, "An O(ND) difference algorithm and its variations", 1986) if at most kMaxDifferences
// lines differ. Beyond that, everything between the common first and last lines counts as removed and added.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct DiffRun {
  enum class Kind : std::uint8_t { same, removed, added } kind = Kind::same;
  std::uint32_t lines = 0;
  friend bool operator==(const DiffRun&, const DiffRun&) = default;
};

inline constexpr int kMaxDifferences = 1000;

// At one place removed lines precede added ones. The last line of a text may lack its newline.
std::vector<DiffRun> diff_lines(std::string_view before, std::string_view after);

// For people and models: removed and added lines marked by - and +, with two lines of context; @@ replaces omitted
// lines. Empty if the texts are equal.
std::string change_text(std::string_view before, std::string_view after);

}  // namespace specgen
