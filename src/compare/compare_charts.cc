#include "compare/compare_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/svg.h"

namespace specgen {
namespace {

constexpr double kWidth = 900, kLeft = 150, kRight = 70, kTop = 34, kRow = 22, kBottom = 28;
constexpr std::array<std::string_view, 4> kFills{"main", "fork", "validate", "lost"};
constexpr std::size_t kColours = 8;

SvgFrame frame(double height, const std::string& title) {
  return {.width = kWidth,
          .height = height,
          .title = title,
          .description = title,
          .form = SvgForm::inside_page};
}

// Wider for long names, such as those of a task and a system.
double left_of(const std::vector<Bar>& bars) {
  constexpr double kLetter = 6.2, kMax = 320;
  std::size_t longest = 0;
  for (const Bar& bar : bars) longest = std::max(longest, bar.name.size());
  return std::clamp(16 + kLetter * static_cast<double>(longest), kLeft, kMax);
}

std::string hint_of(const Bar& bar, const std::string& unit) {
  std::string hint = fmt::format("{}: {:.4g} {}", bar.name, bar.value, unit);
  if (bar.low == bar.high) return hint;
  return hint + fmt::format(" ({:.4g} to {:.4g} over seeds)", bar.low, bar.high);
}

}  // namespace

std::string bar_chart(const std::string& title, const std::string& unit,
                      const std::vector<Bar>& bars) {
  double highest = 0;
  for (const Bar& bar : bars) {
    highest = std::max({highest, bar.high, bar.value, bar.paper_high});
  }
  const double left = left_of(bars);
  double scale = highest > 0 ? (kWidth - left - kRight) / highest : 0;
  Svg svg(frame(kTop + kRow * static_cast<double>(bars.size()) + 8, title));
  double y = kTop;
  for (const Bar& bar : bars) {
    if (bar.begins_group) svg.line(12, y - 1, kWidth - 12, y - 1, "rule");
    svg.text(left - 8, y + 13, bar.name, "label", Anchor::end);
    svg.rect(left, y + 3, bar.value * scale, kRow - 8, "main faint", hint_of(bar, unit));
    double middle = y + 3 + (kRow - 8) / 2;
    svg.line(left + bar.low * scale, middle, left + bar.high * scale, middle, "axis");
    if (bar.paper_high > 0) {
      double from = left + bar.paper_low * scale, to = left + bar.paper_high * scale;
      svg.line(from - 1, y + kRow - 4, std::max(to, from + 1) + 1, y + kRow - 4, "paper");
    }
    svg.text(left + std::max(bar.value, bar.high) * scale + 6, y + 13,
             fmt::format("{:.4g} {}", bar.value, unit));
    y += kRow;
  }
  return std::move(svg).finish();
}

std::string stack_chart(const std::string& title, const std::vector<std::string>& kinds,
                        const std::vector<Stack>& stacks) {
  Svg svg(frame(kTop + 20 + kRow * static_cast<double>(stacks.size()) + 8, title));
  double x = kLeft;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].empty()) continue;  // this colour is not used
    svg.rect(x, 28, 10, 10, kFills[i % kFills.size()]);
    svg.text(x + 15, 37, kinds[i]);
    x += 190;
  }
  double y = kTop + 20;
  for (const Stack& stack : stacks) {
    svg.text(kLeft - 8, y + 13, stack.name, "label", Anchor::end);
    double at = kLeft;
    for (std::size_t i = 0; i < stack.parts.size(); ++i) {
      double width = stack.parts[i] * (kWidth - kLeft - kRight);
      svg.rect(at, y + 2, width, kRow - 6, kFills[i % kFills.size()],
               fmt::format("{}: {} {:.1f} %", stack.name, kinds[i], 100 * stack.parts[i]));
      at += width;
    }
    y += kRow;
  }
  return std::move(svg).finish();
}

std::string curve_chart(const Axes& axes, const std::vector<Curve>& curves) {
  constexpr double kHeight = 320, kLegend = 150;
  double x_end = axes.x_end, y_end = axes.y_end;
  for (const Curve& curve : curves) {
    for (auto [x, y] : curve.points) {
      if (axes.x_end == 0) x_end = std::max(x_end, x);
      if (axes.y_end == 0) y_end = std::max(y_end, y);
    }
  }
  const double left = 50, right = kWidth - kLegend, bottom = kHeight - kBottom - 14;
  auto at_x = [&](double x) { return left + (right - left) * (x_end > 0 ? x / x_end : 0); };
  auto at_y = [&](double y) { return bottom - (bottom - kTop) * (y_end > 0 ? y / y_end : 0); };
  Svg svg(frame(kHeight, axes.title));
  for (double tick : round_ticks(0, y_end, 5)) {
    svg.line(left, at_y(tick), right, at_y(tick), "rule");
    svg.text(left - 6, at_y(tick) + 4, svg_number(tick), "label", Anchor::end);
  }
  for (double tick : round_ticks(0, x_end, 8)) {
    svg.text(at_x(tick), bottom + 16, svg_number(tick), "label", Anchor::middle);
  }
  svg.line(left, bottom, right, bottom, "axis");
  svg.text((left + right) / 2, bottom + 34, axes.x, "label", Anchor::middle);
  svg.text(left, kTop - 6, axes.y);
  double y = kTop + 8;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    std::string kind = fmt::format("curve k{}", i % kColours);
    std::string path;
    double last_y = 0;
    for (auto [px, py] : curve.points) {
      double shown_x = at_x(std::min(px, x_end)), shown_y = at_y(std::min(py, y_end));
      if (path.empty()) {
        path = fmt::format("M{} {}", svg_number(shown_x), svg_number(shown_y));
      } else if (curve.is_stepped) {
        path += fmt::format("L{} {}L{} {}", svg_number(shown_x), svg_number(last_y),
                            svg_number(shown_x), svg_number(shown_y));
      } else {
        path += fmt::format("L{} {}", svg_number(shown_x), svg_number(shown_y));
      }
      last_y = shown_y;
    }
    if (!path.empty()) svg.path(path, kind);
    svg.line(right + 10, y - 4, right + 28, y - 4, kind);
    svg.text(right + 33, y, curve.name);
    y += 16;
  }
  return std::move(svg).finish();
}

}  // namespace specgen
