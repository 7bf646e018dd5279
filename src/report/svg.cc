#include "report/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "report/page_text.h"

namespace specgen {
namespace {

// Inside a page these rules apply to the whole page, so each begins with our own class. The page may set its theme with
// data-theme; a picture in a file of its own is the root.
constexpr std::string_view kStyle = R"(
.sgp{--ink:#1b1f27;--soft:#667085;--rule:#e3e5ea;--row:#f4f5f8;--main:#3b6fe0;--fork:#e0892b;--compile:#98a1b0;
--validate:#19966b;--profile:#a3459a;--evaluate:#7a5a3a;--tune:#c9a400}
@media (prefers-color-scheme:dark){:root:not([data-theme="light"]) .sgp,:root:not([data-theme="light"]).sgp{
--ink:#e6e9ef;
--soft:#99a3b3;--rule:#2a303b;--row:#1c212b;--main:#7aa2ff;--fork:#f2a950;--compile:#6b7484;--validate:#4cc596;
--profile:#d98ad1;--evaluate:#b8926a;--tune:#e6c84a}}
:root[data-theme="dark"] .sgp{--ink:#e6e9ef;--soft:#99a3b3;--rule:#2a303b;--row:#1c212b;--main:#7aa2ff;--fork:#f2a950;
--compile:#6b7484;--validate:#4cc596;--profile:#d98ad1;--evaluate:#b8926a;--tune:#e6c84a}
.sgp{max-width:100%;height:auto;font:11px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.sgp text{fill:var(--soft);font-size:11px;font-variant-numeric:tabular-nums}
.sgp text.title{fill:var(--ink);font-size:13px;font-weight:600}
.sgp .rule{stroke:var(--rule);stroke-width:1}
.sgp .axis{stroke:var(--soft);stroke-width:1}
.sgp .mean{stroke:var(--ink);stroke-width:1;stroke-dasharray:4 3;fill:none}
.sgp .row{fill:var(--row)}
.sgp .main{fill:var(--main)}.sgp .fork{fill:var(--fork)}.sgp .compile{fill:var(--compile)}
.sgp .validate{fill:var(--validate)}.sgp .profile{fill:var(--profile)}.sgp .evaluate{fill:var(--evaluate)}
.sgp .tune{fill:var(--tune)}.sgp .busy{fill:var(--main)}.sgp .lost{fill:var(--soft)}
.sgp .faint{fill-opacity:.28}
.sgp .hatched{fill:none;stroke-dasharray:1.4 2.2}
.sgp .hatched.main{stroke:var(--main)}.sgp .hatched.fork{stroke:var(--fork)}
.sgp .hatched.compile{stroke:var(--compile)}
.sgp .hatched.validate{stroke:var(--validate)}.sgp .hatched.profile{stroke:var(--profile)}
.sgp .hatched.evaluate{stroke:var(--evaluate)}.sgp .hatched.tune{stroke:var(--tune)}
.sgp .hatched.lost{stroke:var(--soft)}
)";

struct TimeUnit {
  std::string_view name;
  double seconds;
  std::array<double, 8> steps;  // in the unit; multiplied by ten beyond the last
};
constexpr std::array<TimeUnit, 5> kUnits{
    TimeUnit{"ms", 1e-3, {0.1, 0.2, 0.5, 1, 2, 5, 10, 20}},
    TimeUnit{"s", 1, {0.1, 0.2, 0.5, 1, 2, 5, 10, 20}},
    TimeUnit{"min", 60, {0.5, 1, 2, 5, 10, 15, 30, 60}},
    TimeUnit{"h", 3600, {0.5, 1, 2, 3, 6, 12, 24, 48}},
    TimeUnit{"days", 86400, {0.5, 1, 2, 5, 10, 20, 50, 100}},
};

// Up to two minutes in seconds, up to two hours in minutes, and so on.
const TimeUnit& unit_for(double total_seconds) {
  constexpr std::array<double, 4> kUpTo{1, 120, 7200, 3 * 86400.0};
  std::size_t unit = 0;
  while (unit < kUpTo.size() && total_seconds > kUpTo[unit]) ++unit;
  return kUnits[unit];
}

std::string_view name_of(Anchor anchor) {
  return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

std::string tooltip(std::string_view hint) {
  return hint.empty() ? "/>\n" : fmt::format("><title>{}</title>", xml_escaped(hint));
}

}  // namespace

std::string svg_number(double number) {
  std::string text = fmt::format("{:.2f}", std::isfinite(number) ? number : 0);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::vector<double> round_ticks(double from, double to, std::size_t wanted) {
  if (!(to > from) || wanted == 0) return {from};
  const double rough = (to - from) / static_cast<double>(wanted);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::ceil(from / step - 1e-9); i * step <= to + 1e-9 * step; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

TimeTicks time_ticks(Duration end, std::size_t wanted) {
  const double total = std::max(seconds(end), 0.0);
  const TimeUnit& unit = unit_for(total);
  double step = unit.steps.front();
  auto too_fine = [&] { return total / unit.seconds / step > static_cast<double>(wanted); };
  for (double coarser : unit.steps) {
    if (!too_fine()) break;
    step = coarser;
  }
  while (too_fine()) step *= 10;
  TimeTicks ticks{.unit = unit.name, .at = {}, .numbers = {}};
  for (std::size_t i = 0; static_cast<double>(i) * step * unit.seconds <= total * (1 + 1e-9); ++i) {
    const double value = static_cast<double>(i) * step;
    ticks.at.push_back(from_seconds(value * unit.seconds));
    ticks.numbers.push_back(svg_number(value));
  }
  return ticks;
}

Svg::Svg(const SvgFrame& frame) {
  const std::string width = svg_number(frame.width), height = svg_number(frame.height);
  text_ = "<svg";
  if (frame.form == SvgForm::file) text_ += " xmlns=\"http://www.w3.org/2000/svg\"";
  fmt::format_to(std::back_inserter(text_),
                 " class=\"sgp\" role=\"img\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\""
                 " aria-label=\"{2}\">\n<title>{2}</title>\n<desc>{3}</desc>\n<style>{4}</style>\n",
                 width, height, xml_escaped(frame.title), xml_escaped(frame.description), kStyle);
  text(12, 18, frame.title, "title");
}

void Svg::rect(double x, double y, double width, double height, std::string_view kind,
               std::string_view hint) {
  fmt::format_to(std::back_inserter(text_),
                 "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", kind,
                 svg_number(x), svg_number(y), svg_number(width), svg_number(height),
                 tooltip(hint));
  if (!hint.empty()) text_ += "</rect>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view kind) {
  fmt::format_to(std::back_inserter(text_),
                 "<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", kind,
                 svg_number(x1), svg_number(y1), svg_number(x2), svg_number(y2));
}

void Svg::path(std::string_view d, std::string_view kind) {
  fmt::format_to(std::back_inserter(text_), "<path class=\"{}\" d=\"{}\"/>\n", kind, d);
}

void Svg::text(double x, double y, std::string_view content, std::string_view kind, Anchor anchor) {
  fmt::format_to(std::back_inserter(text_),
                 "<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", kind,
                 svg_number(x), svg_number(y), name_of(anchor), xml_escaped(content));
}

// A dashed line as thick as the bar is high: a pattern would need an id that is unique in the page.
void Svg::hatch(double x, double y, double width, double height, std::string_view kind,
                std::string_view hint) {
  rect(x, y, width, height, fmt::format("{} faint", kind));  // visible where no stripe fits
  fmt::format_to(std::back_inserter(text_),
                 "<path class=\"hatched {}\" stroke-width=\"{}\" d=\"M{} {}h{}\"{}", kind,
                 svg_number(height), svg_number(x), svg_number(y + height / 2), svg_number(width),
                 tooltip(hint));
  if (!hint.empty()) text_ += "</path>\n";
}

std::string Svg::finish() && {
  text_ += "</svg>\n";
  return std::move(text_);
}

}  // namespace specgen
