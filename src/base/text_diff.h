#pragma once
// How one text became another, line by line: runs of lines that stay, go or come. Pure.
//
// The shortest such list (Myers, "An O(ND) difference algorithm and its variations", 1986) as long as no more than
// kMaxDifferences lines differ; of texts that have less in common, all that lies between their common beginning and
// their common end goes and comes.

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

// Where lines go and come at one place, those that go stand first. The last line of a text may lack its newline.
std::vector<DiffRun> diff_lines(std::string_view before, std::string_view after);

// For people and models: what goes and comes, marked by - and +, with two lines around it; @@ stands for what is left
// out. Empty if nothing differs.
std::string change_text(std::string_view before, std::string_view after);

}  // namespace specgen
