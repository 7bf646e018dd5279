#include "base/text_diff.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"

namespace specgen {
namespace {

using Kind = DiffRun::Kind;
using Runs = std::vector<DiffRun>;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  if (text.ends_with('\n'))
    text.remove_suffix(1);
  else if (text.empty())
    return lines;
  for (std::string_view line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

// Applies the runs to `before`, taking added lines from `after`; counts the lines that differ.
std::vector<std::string> applied(std::string_view before, std::string_view after,
                                 std::size_t* differing) {
  std::vector<std::string> from = lines_of(before), to = lines_of(after), result;
  std::size_t x = 0, y = 0;
  for (const DiffRun& run : diff_lines(before, after)) {
    for (std::uint32_t i = 0; i < run.lines; ++i) {
      if (run.kind == Kind::same) {
        EXPECT_EQ(from.at(x), to.at(y));
        result.push_back(from.at(x));
      }
      if (run.kind == Kind::added) result.push_back(to.at(y));
      if (run.kind != Kind::added) ++x;
      if (run.kind != Kind::removed) ++y;
      *differing += run.kind != Kind::same;
    }
  }
  EXPECT_EQ(x, from.size());
  EXPECT_EQ(y, to.size());
  return result;
}

// The length of the longest common subsequence, by dynamic programming.
std::size_t common_lines(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      best[i][j] = a[i] == b[j] ? 1 + best[i + 1][j + 1] : std::max(best[i + 1][j], best[i][j + 1]);
    }
  }
  return best[0][0];
}

TEST(TextDiff, equal_texts_are_one_run) {
  EXPECT_EQ(diff_lines("a\nb\n", "a\nb\n"), (Runs{{Kind::same, 2}}));
  EXPECT_EQ(diff_lines("", ""), Runs{});
}

TEST(TextDiff, a_changed_line_is_removed_then_added) {
  EXPECT_EQ(diff_lines("a\nb\nc\n", "a\nx\nc\n"),
            (Runs{{Kind::same, 1}, {Kind::removed, 1}, {Kind::added, 1}, {Kind::same, 1}}));
}

TEST(TextDiff, a_text_may_be_empty) {
  EXPECT_EQ(diff_lines("", "a\nb"), (Runs{{Kind::added, 2}}));
  EXPECT_EQ(diff_lines("a\nb\n", ""), (Runs{{Kind::removed, 2}}));
}

TEST(TextDiff, the_difference_is_minimal_and_reproduces_the_other_text) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string before, after;
    for (std::string* text : {&before, &after}) {
      for (std::uint64_t i = 0, n = random.below(30); i < n; ++i) {
        *text += static_cast<char>('a' + random.below(4));
        *text += '\n';
      }
    }
    std::size_t differing = 0;
    EXPECT_EQ(applied(before, after, &differing), lines_of(after));
    std::size_t common = common_lines(lines_of(before), lines_of(after));
    EXPECT_EQ(differing, lines_of(before).size() + lines_of(after).size() - 2 * common);
  }
}

TEST(TextDiff, texts_with_little_in_common_are_replaced_between_common_ends) {
  std::string before = "head\n", after = "head\n";
  for (int i = 0; i < kMaxDifferences; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(diff_lines(before + "tail\n", after + "tail\n"),
            (Runs{{Kind::same, 1}, {Kind::removed, 1000}, {Kind::added, 1000}, {Kind::same, 1}}));
}

TEST(TextDiff, a_change_is_printed_with_two_lines_of_context) {
  EXPECT_EQ(change_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\nfour\n5\n6\n7\n8\n9\nten\n"),
            "@@\n 2\n 3\n-4\n+four\n 5\n 6\n@@\n 8\n 9\n+ten\n");
  EXPECT_EQ(change_text("a\nb\nc\n", "b\nc\nd"), "-a\n b\n c\n+d\n");
  EXPECT_EQ(change_text("", "a\n"), "+a\n");
  EXPECT_EQ(change_text("a\nb\n", "a\nb\n"), "");
}

}  // namespace
}  // namespace specgen
