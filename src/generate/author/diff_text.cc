#include "generate/author/diff_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

using Lines = std::vector<std::string_view>;

// The aligned sources: a line is in both, or in one of them.
struct Row {
  std::optional<std::string_view> before;
  std::optional<std::string_view> after;
};
using Rows = std::vector<Row>;

// The rows of one block.
struct Range {
  std::size_t from, to;
};

Lines lines_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return split(text, '\n');
}

// By the longest common subsequence of lines; sources have a few hundred lines.
Rows side_by_side(const Lines& before, const Lines& after) {
  const std::size_t columns = after.size() + 1;
  std::vector<std::uint32_t> common((before.size() + 1) * columns, 0);  // of what follows [i, j]
  auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return common[i * columns + j]; };
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;) {
      at(i, j) =
          before[i] == after[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  Rows rows;
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      rows.push_back({before[i++], after[j++]});
    } else if (j == after.size() || (i < before.size() && at(i + 1, j) >= at(i, j + 1))) {
      rows.push_back({before[i++], std::nullopt});
    } else {
      rows.push_back({std::nullopt, after[j++]});
    }
  }
  return rows;
}

std::string text_of(const Rows& rows, Range range, std::optional<std::string_view> Row::* side) {
  std::string text;
  for (std::size_t i = range.from; i < range.to; ++i) {
    if (rows[i].*side) text.append(*(rows[i].*side)).append("\n");
  }
  return text;
}

bool is_found_once(const std::string& part, const std::string& whole) {
  if (part.empty()) return false;
  // Counted as complete lines, overlaps included.
  std::size_t first = whole.find("\n" + part);
  return first != std::string::npos && whole.find("\n" + part, first + 1) == std::string::npos;
}

}  // namespace

std::string search_replace_blocks(std::string_view before, std::string_view after) {
  SG_ASSERT(!trim(before).empty(), "there is nothing to search in");
  const Rows rows = side_by_side(lines_of(before), lines_of(after));
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].before && rows[i].after) continue;
    Range range{i, i + 1};
    auto is_unique = [&] {
      // Blocks are applied in order: the source already contains the changes of those before this one.
      const std::size_t done = ranges.empty() ? 0 : ranges.back().to;
      std::string source = "\n" + text_of(rows, {0, done}, &Row::after) +
                           text_of(rows, {done, rows.size()}, &Row::before);
      return is_found_once(text_of(rows, range, &Row::before), source);
    };
    while (!is_unique() && (range.from > 0 || range.to < rows.size())) {
      if (range.from > 0) --range.from;
      if (range.to < rows.size()) ++range.to;
      while (!ranges.empty() && range.from < ranges.back().to) {
        range.from = std::min(range.from, ranges.back().from);
        ranges.pop_back();
      }
    }
    // Adjacent changes belong to the same block.
    while (range.to < rows.size() && !(rows[range.to].before && rows[range.to].after)) ++range.to;
    i = range.to - 1;
    ranges.push_back(range);
  }
  std::string blocks;
  for (Range range : ranges) {
    blocks += fmt::format("<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n\n",
                          text_of(rows, range, &Row::before), text_of(rows, range, &Row::after));
  }
  return blocks;
}

}  // namespace specgen
