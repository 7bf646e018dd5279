#include "generate/answer/search_replace.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kFewestMarks = 5;
constexpr std::size_t kMaxMarks = 9;

// A line of five to nine marks and this word (a CUDA launch `<<<` has three).
bool is_marker(std::string_view line, char mark, std::string_view word) {
  line = trim(line);
  std::size_t marks = std::min(line.find_first_not_of(mark), line.size());
  return marks >= kFewestMarks && marks <= kMaxMarks && trim(line.substr(marks)) == word;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The lines of a text, each ended by \n.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = first_line(text);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    lines.emplace_back(without_return(line)).append(1, '\n');
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  return join(lines, "");
}

// memmem is linear in the worst case.
std::optional<std::size_t> find_in(std::string_view text, std::string_view what) {
  const void* found = ::memmem(text.data(), text.size(), what.data(), what.size());
  if (!found) return std::nullopt;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// Each line after a \n, trimmed, every run of white space replaced by one blank: equal for texts that differ only in
// white space.
std::string squeezed(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += '\n';
    bool space = false;
    for (char c : trim(line)) {
      if (!is_space(c)) text += c;
      if (is_space(c) && !space) text += ' ';
      space = is_space(c);
    }
  }
  return text;
}

bool is_blank(const std::string& line) {
  return trim(line).empty();
}

void drop_blank_edges(std::vector<std::string>& lines) {
  while (!lines.empty() && is_blank(lines.back())) lines.pop_back();
  lines.erase(lines.begin(), std::ranges::find_if_not(lines, is_blank));
}

std::string_view indent_of(std::string_view line) {
  return line.substr(0, line.find_first_not_of(" \t"));
}

// The replacement, indented like its place.
std::string indented_like(std::string_view place, std::string_view search,
                          std::vector<std::string> replacement) {
  std::string_view there = indent_of(place), here = indent_of(search);
  for (std::string& line : replacement) {
    if (is_blank(line)) continue;
    if (there.ends_with(here)) {
      line.insert(0, there.substr(0, there.size() - here.size()));
    } else if (here.ends_with(there) && line.starts_with(here.substr(there.size()))) {
      line.erase(0, here.size() - there.size());
    }
  }
  return joined(replacement);
}

}  // namespace

Hunks find_hunks(std::string_view text) {
  enum class At { outside, search, replace } at = At::outside;
  Hunks found;
  for (std::size_t begin = 0; begin < text.size();) {
    std::string_view line = first_line(text.substr(begin));
    begin = std::min(begin + line.size() + 1, text.size());
    line = without_return(line);
    if (is_marker(line, '<', "SEARCH")) {
      if (at != At::outside) found.cut_off = true;  // the previous one has no end
      found.hunks.emplace_back();
      at = At::search;
      found.end = begin;
    } else if (at == At::search && is_marker(line, '=', "")) {
      at = At::replace;
    } else if (at == At::replace && is_marker(line, '>', "REPLACE")) {
      at = At::outside;
      found.end = begin;
    } else if (at != At::outside) {
      Hunk& hunk = found.hunks.back();
      (at == At::search ? hunk.search : hunk.replace).append(line).append(1, '\n');
    }
  }
  found.cut_off = found.cut_off || at != At::outside;
  return found;
}

std::optional<std::string> apply_hunk(std::string_view source, const Hunk& hunk) {
  std::vector<std::string> lines = lines_of(source);
  std::vector<std::string> search = lines_of(hunk.search);
  std::string text = joined(lines);
  if (std::ranges::all_of(search, is_blank)) {  // blank lines match anywhere
    if (!std::ranges::all_of(lines, is_blank)) return std::nullopt;
    return hunk.replace;
  }
  if (auto at = find_in("\n" + text, "\n" + hunk.search)) {
    return text.replace(*at, hunk.search.size(), hunk.replace);
  }
  drop_blank_edges(search);
  std::string haystack = squeezed(lines);
  auto at = find_in(haystack + "\n", squeezed(search) + "\n");
  if (!at) return std::nullopt;
  auto first = std::ranges::count(std::string_view(haystack).substr(0, *at), '\n');
  auto last = first + static_cast<std::ptrdiff_t>(search.size());
  std::string changed =
      indented_like(lines[static_cast<std::size_t>(first)], search.front(), lines_of(hunk.replace));
  lines.erase(lines.begin() + first, lines.begin() + last);
  lines.insert(lines.begin() + first, std::move(changed));
  return joined(lines);
}

}  // namespace specgen
