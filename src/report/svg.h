#pragma once
// A small writer of SVG pictures: shapes, texts, axes with round ticks. A picture needs no font, script or other file,
// is the same for the same input, and has colours for light and dark themes.
//
//   Svg svg({.width = 900, .height = 300, .title = "Utilisation", .description = "..."});
//   svg.rect(10, 10, 80, 20, "validate", "c17 on cpu:0");
//   std::string text = std::move(svg).finish();

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace specgen {

// At most two decimals, without trailing zeros: "12", "3.5", "-0.25".
std::string svg_number(double number);

// Steps of 1, 2 or 5 times a power of ten from `from` to `to`, about `wanted` of them.
std::vector<double> round_ticks(double from, double to, std::size_t wanted);

struct TimeTicks {
  std::string_view unit;             // "ms", "s", "min", "h", "days"
  std::vector<Duration> at;          // from 0 on
  std::vector<std::string> numbers;  // in that unit
};
TimeTicks time_ticks(Duration end, std::size_t wanted);

enum class SvgForm : std::uint8_t { file, inside_page };

struct SvgFrame {
  double width = 900;
  double height = 300;
  std::string title;
  std::string description;  // for screen readers
  SvgForm form = SvgForm::file;
};

enum class Anchor : std::uint8_t { start, middle, end };

class Svg {
 public:
  explicit Svg(const SvgFrame& frame);

  // `kind` is a class of the style sheet in svg.cc; `hint` is shown when the pointer rests there.
  void rect(double x, double y, double width, double height, std::string_view kind,
            std::string_view hint = {});
  void line(double x1, double y1, double x2, double y2, std::string_view kind);
  void path(std::string_view d, std::string_view kind);
  void text(double x, double y, std::string_view content, std::string_view kind = "label",
            Anchor anchor = Anchor::start);
  // Vertical stripes of that colour: for work without a result.
  void hatch(double x, double y, double width, double height, std::string_view kind,
             std::string_view hint = {});

  std::string finish() &&;

 private:
  std::string text_;
};

}  // namespace specgen
