#pragma once
// The few kinds of charts that a comparison is drawn with: bars by system with the published range on them, stacked
// shares, and curves. Each is an SVG to be put into a page. Private to this room.

#include <string>
#include <utility>
#include <vector>

namespace specgen {

struct Bar {
  std::string name;
  double value = 0;
  double low = 0, high = 0;              // over seeds
  double paper_low = 0, paper_high = 0;  // 0: nothing was published
  bool begins_group = false;             // a line sets it off from those before
};
// Of the figure in `unit`, such as "%" or "h".
std::string bar_chart(const std::string& title, const std::string& unit,
                      const std::vector<Bar>& bars);

struct Stack {
  std::string name;
  std::vector<double> parts;  // shares of 1, as many as there are kinds
};
std::string stack_chart(const std::string& title, const std::vector<std::string>& kinds,
                        const std::vector<Stack>& stacks);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool is_stepped = false;  // a value holds until the next
};
struct Axes {
  std::string title;
  std::string x;  // what it is, with its unit
  std::string y;
  double x_end = 0;  // 0: where the curves end
  double y_end = 0;
};
std::string curve_chart(const Axes& axes, const std::vector<Curve>& curves);

}  // namespace specgen
