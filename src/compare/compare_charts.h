#pragma once
// The charts of a comparison: bars by system with the published range on them, stacked shares, and curves.
// Each is an SVG
// for use inside a page. Private to this module.

#include <string>
#include <utility>
#include <vector>

namespace specgen {

struct Bar {
  std::string name;
  double value = 0;
  double low = 0, high = 0;              // over seeds
  double paper_low = 0, paper_high = 0;  // 0: none published
  bool begins_group = false;             // a line separates it from those before
};
// `unit`: of the values, such as "%" or "h".
std::string bar_chart(const std::string& title, const std::string& unit,
                      const std::vector<Bar>& bars);

struct Stack {
  std::string name;
  std::vector<double> parts;  // shares of 1, one per kind
};
std::string stack_chart(const std::string& title, const std::vector<std::string>& kinds,
                        const std::vector<Stack>& stacks);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool is_stepped = false;  // each value holds until the next point
};
struct Axes {
  std::string title;
  std::string x;  // label, with unit
  std::string y;
  double x_end = 0;  // 0: the end of the curves
  double y_end = 0;
};
std::string curve_chart(const Axes& axes, const std::vector<Curve>& curves);

}  // namespace specgen
