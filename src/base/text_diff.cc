#include "base/text_diff.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/text.h"

namespace specgen {
namespace {

using Kind = DiffRun::Kind;
using Lines = std::span<const std::string_view>;

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.ends_with('\n'))
    text.remove_suffix(1);
  else if (text.empty())
    return {};
  return split(text, '\n');
}

// Walks the furthest-reaching paths back from the end to the beginning.
std::vector<Kind> steps_back(const std::vector<std::vector<int>>& reached, int x, int y) {
  std::vector<Kind> steps;
  for (int d = static_cast<int>(reached.size()) - 1; d > 0; --d) {
    const std::vector<int>& before = reached[static_cast<std::size_t>(d) - 1];
    auto x_at = [&](int k) { return before[static_cast<std::size_t>(k + d - 1)]; };
    int k = x - y;
    bool down = k == -d || (k != d && x_at(k - 1) < x_at(k + 1));
    int from_k = down ? k + 1 : k - 1;
    int from_x = x_at(from_k), from_y = from_x - from_k;
    for (int same_from = from_x + (down ? 0 : 1); x > same_from; --x) steps.push_back(Kind::same);
    steps.push_back(down ? Kind::added : Kind::removed);
    x = from_x;
    y = from_y;
  }
  for (; x > 0; --x) steps.push_back(Kind::same);
  return steps;
}

// The steps from the beginning; nullopt if more than kMaxDifferences lines differ.
std::optional<std::vector<Kind>> shortest(Lines before, Lines after) {
  const int n = static_cast<int>(before.size()), m = static_cast<int>(after.size());
  std::vector<std::vector<int>> reached;  // for d differences: x by diagonal -d..d
  for (int d = 0; d <= std::min(n + m, kMaxDifferences); ++d) {
    std::vector<int>& now = reached.emplace_back(static_cast<std::size_t>(2 * d + 1), -1);
    for (int k = -d; k <= d; k += 2) {
      int x = 0;
      if (d > 0) {
        const std::vector<int>& last = reached[static_cast<std::size_t>(d) - 1];
        auto x_at = [&](int diagonal) { return last[static_cast<std::size_t>(diagonal + d - 1)]; };
        bool down = k == -d || (k != d && x_at(k - 1) < x_at(k + 1));
        x = down ? x_at(k + 1) : x_at(k - 1) + 1;
      }
      int y = x - k;
      while (x < n && y < m &&
             before[static_cast<std::size_t>(x)] == after[static_cast<std::size_t>(y)]) {
        ++x, ++y;
      }
      now[static_cast<std::size_t>(k + d)] = x;
      if (x >= n && y >= m) {
        std::vector<Kind> steps = steps_back(reached, n, m);
        std::ranges::reverse(steps);
        return steps;
      }
    }
  }
  return std::nullopt;
}

class Runs {
 public:
  void add(Kind kind, std::size_t lines) {
    if (kind == Kind::removed) removed_ += lines;
    if (kind == Kind::added) added_ += lines;
    if (kind != Kind::same || lines == 0) return;
    settle();
    if (!all_.empty() && all_.back().kind == Kind::same) {
      all_.back().lines += static_cast<std::uint32_t>(lines);
    } else {
      all_.push_back({Kind::same, static_cast<std::uint32_t>(lines)});
    }
  }
  std::vector<DiffRun> take() {
    settle();
    return std::move(all_);
  }

 private:
  void settle() {
    if (removed_ > 0) all_.push_back({Kind::removed, static_cast<std::uint32_t>(removed_)});
    if (added_ > 0) all_.push_back({Kind::added, static_cast<std::uint32_t>(added_)});
    removed_ = added_ = 0;
  }
  std::vector<DiffRun> all_;
  std::size_t removed_ = 0;
  std::size_t added_ = 0;
};

}  // namespace

std::vector<DiffRun> diff_lines(std::string_view before, std::string_view after) {
  std::vector<std::string_view> old_lines = lines_of(before), new_lines = lines_of(after);
  Lines from(old_lines), to(new_lines);
  std::size_t head = 0;
  while (head < from.size() && head < to.size() && from[head] == to[head]) ++head;
  from = from.subspan(head);
  to = to.subspan(head);
  std::size_t tail = 0;
  while (tail < from.size() && tail < to.size() &&
         from[from.size() - 1 - tail] == to[to.size() - 1 - tail]) {
    ++tail;
  }
  from = from.first(from.size() - tail);
  to = to.first(to.size() - tail);

  Runs runs;
  runs.add(Kind::same, head);
  if (auto steps = shortest(from, to)) {
    for (Kind kind : *steps) runs.add(kind, 1);
  } else {
    runs.add(Kind::removed, from.size());
    runs.add(Kind::added, to.size());
  }
  runs.add(Kind::same, tail);
  return runs.take();
}

std::string change_text(std::string_view before, std::string_view after) {
  constexpr std::size_t kContext = 2;  // lines
  const std::vector<std::string_view> from = lines_of(before), to = lines_of(after);
  const std::vector<DiffRun> runs = diff_lines(before, after);
  std::string text;
  std::size_t x = 0, y = 0;
  auto add_line = [&](char mark, std::string_view line) {
    text += mark;
    text += line;
    text += '\n';
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t lines = runs[i].lines;
    if (runs[i].kind == Kind::removed) {
      for (std::size_t n = 0; n < lines; ++n) add_line('-', from[x + n]);
      x += lines;
    } else if (runs[i].kind == Kind::added) {
      for (std::size_t n = 0; n < lines; ++n) add_line('+', to[y + n]);
      y += lines;
    } else {
      const std::size_t head = i == 0 ? 0 : std::min(kContext, lines);
      const std::size_t tail = i + 1 == runs.size() ? 0 : std::min(kContext, lines - head);
      for (std::size_t n = 0; n < head; ++n) add_line(' ', from[x + n]);
      if (head + tail < lines && runs.size() > 1) text += "@@\n";
      for (std::size_t n = lines - tail; n < lines; ++n) add_line(' ', from[x + n]);
      x += lines;
      y += lines;
    }
  }
  return text;
}

}  // namespace specgen
