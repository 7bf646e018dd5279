// Docs that can be followed: every relative link leads to a file of the tree, lines fit on a screen,
// and the page that walks through an iteration names files and functions that exist.

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tree/tree_files.h"

namespace specgen::tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxColumns = 100;
const fs::path kRoot(SPECGEN_SOURCE_DIR);

std::vector<std::string> pages() {
  std::vector<std::string> all = files_of(kRoot);
  std::erase_if(all, [](const std::string& path) { return !path.ends_with(".md"); });
  return all;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(content_of(kRoot / path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

struct Link {
  std::string text;
  fs::path target;  // relative to the root; empty: leads out of the tree
};

std::vector<Link> links_in(const std::string& page, const std::string& line) {
  static const RE2 kLink(R"(\[([^\]]*)\]\(([^)#]+)(?:#[^)]*)?\))");
  std::vector<Link> links;
  re2::StringPiece rest(line);
  std::string text;
  std::string target;
  while (RE2::FindAndConsume(&rest, kLink, &text, &target)) {
    if (target.contains("://")) continue;
    links.push_back({text, (fs::path(page).parent_path() / target).lexically_normal()});
  }
  return links;
}

TEST(Docs, links_lead_to_files_of_the_tree) {
  std::vector<std::string> all = pages();
  ASSERT_GE(all.size(), 10U) << "not the tree: " << kRoot;
  for (const std::string& page : all) {
    std::vector<std::string> lines = lines_of(page);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const Link& link : links_in(page, lines[i])) {
        EXPECT_TRUE(fs::exists(kRoot / link.target))
            << page << ":" << i + 1 << ": there is no " << link.target;
      }
    }
  }
}

// Rows of tables cannot be broken, and code and the output of programs are shown as they are.
TEST(Docs, lines_have_at_most_a_hundred_columns) {
  for (const std::string& page : pages()) {
    if (page.starts_with("prompts/")) continue;  // a model reads them, and they are joined there
    std::vector<std::string> lines = lines_of(page);
    bool is_fenced = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].starts_with("```")) is_fenced = !is_fenced;
      bool is_exempt = is_fenced || lines[i].starts_with("    ") || lines[i].starts_with("|");
      if (is_exempt) continue;
      auto columns = std::ranges::count_if(lines[i], [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(static_cast<std::size_t>(columns), kMaxColumns) << page << ":" << i + 1;
    }
  }
}

// Each step of the walk is "`Type::function` in [file](link)": the last part of the name must appear
// in that file.
TEST(Docs, the_walk_through_an_iteration_names_what_exists) {
  static const RE2 kStep(R"(`([A-Za-z_:~]+)` in\s+\[[^\]]*\]\(([^)#]+)\))");
  const fs::path page = "docs/internals/walk.md";
  const std::string text = content_of(kRoot / page);
  re2::StringPiece rest(text);
  std::string name;
  std::string target;
  int steps = 0;
  while (RE2::FindAndConsume(&rest, kStep, &name, &target)) {
    ++steps;
    const fs::path file = (page.parent_path() / target).lexically_normal();
    const std::string last = name.substr(name.rfind(':') + 1);
    EXPECT_TRUE(RE2::PartialMatch(content_of(kRoot / file), "\\b" + last + "\\b"))
        << name << " is not in " << file;
  }
  EXPECT_GE(steps, 20) << page;
}

// "| one iteration | 6 | a.h, b.cc |": how many files a newcomer opens, counted from the row itself.
TEST(Docs, the_walk_needs_no_more_files_than_it_says) {
  static const RE2 kRow(R"(^\| ([a-z ]+) \| (\d+) \| (.*) \|$)");
  const std::string page = "docs/internals/walk.md";
  int rows = 0;
  for (const std::string& line : lines_of(page)) {
    std::string what;
    int limit = 0;
    std::string files;
    if (!RE2::FullMatch(line, kRow, &what, &limit, &files)) continue;
    ++rows;
    std::set<fs::path> distinct;
    for (const Link& link : links_in(page, files)) distinct.insert(link.target);
    EXPECT_FALSE(distinct.empty()) << what;
    EXPECT_LE(distinct.size(), static_cast<std::size_t>(limit)) << what;
  }
  EXPECT_EQ(rows, 3) << page;
}

}  // namespace
}  // namespace specgen::tidy
