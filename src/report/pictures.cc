#include "report/pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "report/step_levels.h"

namespace specgen {
namespace {

constexpr double kWidth = 900;
constexpr double kRight = 20;
constexpr double kTop = 54;     // title and legend
constexpr double kBottom = 30;  // numbers of the time axis
constexpr std::size_t kMaxSteps = 600;
constexpr std::size_t kMaxRows = 64;
constexpr std::size_t kMaxSpans = 2000;    // drawn one by one, on all devices together
constexpr std::size_t kIntervals = 160;    // of the utilisation
constexpr std::size_t kDevicesInText = 8;  // of the description

constexpr std::array<std::string_view, kPhases> kKinds{"main",    "fork",     "compile", "validate",
                                                       "profile", "evaluate", "tune"};

// The part of a picture with time from left to right.
struct Plot {
  double left = 0;
  double top = kTop;
  double height = 0;
  Duration end{};
  double right() const { return kWidth - kRight; }
  double bottom() const { return top + height; }
  double x(Duration at) const {
    return end > Duration{} ? left + (right() - left) * (seconds(at) / seconds(end)) : left;
  }
};

void draw_time_axis(Svg& svg, const Plot& plot) {
  TimeTicks ticks = time_ticks(plot.end, 9);
  for (std::size_t i = 0; i < ticks.at.size(); ++i) {
    const double x = plot.x(ticks.at[i]);
    svg.line(x, plot.bottom(), x, plot.bottom() + 4, "axis");
    std::string number = ticks.numbers[i];
    if (i + 1 == ticks.at.size()) number += fmt::format(" {}", ticks.unit);
    svg.text(x, plot.bottom() + 17, number, "label", Anchor::middle);
  }
  svg.line(plot.left, plot.bottom(), plot.right(), plot.bottom(), "axis");
}

struct LegendEntry {
  std::string_view kind;
  std::string text;
  bool is_hatched = false;
};

void draw_legend(Svg& svg, const std::vector<LegendEntry>& entries) {
  constexpr double kSquare = 10, kGap = 18, kLetter = 5.9;
  double x = 12;
  for (const LegendEntry& entry : entries) {
    if (entry.is_hatched) {
      svg.hatch(x, 30, kSquare, kSquare, entry.kind);
    } else {
      svg.rect(x, 30, kSquare, kSquare, entry.kind);
    }
    svg.text(x + kSquare + 5, 39, entry.text);
    x += kSquare + 5 + kLetter * static_cast<double>(entry.text.size()) + kGap;
  }
}

std::string point(double x, double y) {
  return svg_number(x) + " " + svg_number(y);
}

// The outline of one kind in a stack: along its upper edge, then back along its lower edge.
std::string band(const StepLevels& levels, std::size_t kind, const Plot& plot, double unit_height) {
  auto y = [&](double level) { return plot.bottom() - level * unit_height; };
  std::string d, back;
  for (std::size_t i = 0; i < levels.steps(); ++i) {
    const double from = plot.x(levels.begin(i)), to = plot.x(levels.end(i));
    const double low = y(levels.below(i, kind)), high = y(levels.below(i, kind + 1));
    d += (i == 0 ? "M" : "L") + point(from, high) + "H" + svg_number(to);
    back = "L" + point(to, low) + "H" + svg_number(from) + back;
  }
  return d.empty() ? d : d + back + "Z";
}

void draw_levels(Svg& svg, const Plot& plot, double highest) {
  for (double tick : round_ticks(0, highest, 5)) {
    if (tick != static_cast<double>(static_cast<long>(tick))) continue;
    const double y = plot.bottom() - plot.height * tick / highest;
    if (tick > 0) svg.line(plot.left, y, plot.right(), y, "rule");
    svg.text(plot.left - 8, y + 4, svg_number(tick), "label", Anchor::end);
  }
}

// The same in all pictures of a run, so that their time axes line up.
double left_of(const Timeline& timeline) {
  constexpr double kLetter = 6.2, kMin = 48, kMax = 220;
  std::size_t longest = 0;
  for (const std::string& device : timeline.devices) longest = std::max(longest, device.size());
  return std::clamp(24 + kLetter * static_cast<double>(longest), kMin, kMax);
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

bool is_empty(const Timeline& timeline) {
  return timeline.end <= Duration{} || timeline.spans.empty();
}

constexpr std::string_view kNothingYet =
    "Nothing to draw: no request has ended and no candidate has been evaluated.";

std::string nothing_yet(std::string title, SvgForm form) {
  Svg svg({.width = kWidth,
           .height = 80,
           .title = std::move(title),
           .description = std::string(kNothingYet),
           .form = form});
  svg.text(12, 50, kNothingYet);
  return std::move(svg).finish();
}

// ---- devices ----

struct Row {
  std::string name;
  std::vector<const TimelineSpan*> spans = {};
  double busy_seconds = 0;
};

std::vector<Row> rows_of(const Timeline& timeline) {
  std::vector<Row> rows;
  std::map<std::string_view, std::size_t> numbers;
  for (const std::string& device : timeline.devices) {
    if (numbers.try_emplace(device, rows.size()).second) rows.push_back({.name = device});
  }
  for (const TimelineSpan& span : timeline.spans) {
    if (!on_device(span.phase)) continue;
    auto [row, is_new] = numbers.try_emplace(span.device, rows.size());
    if (is_new) rows.push_back({.name = span.device});
    rows[row->second].spans.push_back(&span);
    rows[row->second].busy_seconds += seconds(span.end - span.start);
  }
  return rows;
}

// For devices with too many spans: in each column the phase that took most of it.
struct Summary {
  std::size_t kind = 0;  // phase; plus kPhases: the same without a result
  double from = 0;
  double to = 0;
  std::size_t next_column = 0;
};
std::vector<Summary> summarised(const Row& row, const Plot& plot) {
  constexpr double kColumn = 3;  // narrower ones make a picture of megabytes
  const auto columns = static_cast<std::size_t>((plot.right() - plot.left) / kColumn);
  const double width = (plot.right() - plot.left) / static_cast<double>(columns);
  std::vector<KindSpan> spans;
  for (const TimelineSpan* span : row.spans) {
    const auto phase = static_cast<std::size_t>(span->phase);
    spans.push_back({span->useful ? phase : phase + kPhases, span->start, span->end});
  }
  StepLevels levels = StepLevels::averaged(spans, 2 * kPhases, plot.end, columns);
  std::vector<Summary> summaries;
  for (std::size_t i = 0; i < levels.steps(); ++i) {
    std::size_t most = 0;
    for (std::size_t kind = 1; kind < 2 * kPhases; ++kind) {
      if (levels.level(i, kind) > levels.level(i, most)) most = kind;
    }
    if (levels.below(i, 2 * kPhases) < 0.5) continue;  // mostly idle
    const bool continues =
        !summaries.empty() && summaries.back().kind == most && summaries.back().next_column == i;
    if (!continues) {
      summaries.push_back({.kind = most, .from = plot.left + static_cast<double>(i) * width});
    }
    summaries.back().next_column = i + 1;
    summaries.back().to = plot.left + static_cast<double>(i + 1) * width;
  }
  return summaries;
}

void draw_row(Svg& svg, const Plot& plot, const Row& row, double y, double height,
              bool is_summary) {
  constexpr double kMinWidth = 0.6;  // so that short jobs are visible
  svg.rect(plot.left, y, plot.right() - plot.left, height, "row");
  if (is_summary) {
    for (const Summary& part : summarised(row, plot)) {
      const std::string_view kind = kKinds[part.kind % kPhases];
      const double width = part.to - part.from;
      if (part.kind >= kPhases) {
        svg.hatch(part.from, y, width, height, kind);
      } else {
        svg.rect(part.from, y, width, height, kind);
      }
    }
    return;
  }
  for (const TimelineSpan* span : row.spans) {
    const double from = plot.x(span->start);
    const double width = std::max(plot.x(span->end) - from, kMinWidth);
    const std::string_view kind = kKinds[static_cast<std::size_t>(span->phase)];
    std::string hint = fmt::format("{} {} on {}, {}{}", span->label, to_string(span->phase),
                                   row.name, format_duration(span->end - span->start),
                                   span->useful ? "" : ", without a result");
    if (span->useful) {
      svg.rect(from, y, width, height, kind, hint);
    } else {
      svg.hatch(from, y, width, height, kind, hint);
    }
  }
}

// The devices without a row of their own: how many of them are in each phase.
void draw_the_rest(Svg& svg, const Plot& plot, std::span<const Row> rest, double y, double height) {
  std::vector<KindSpan> spans;
  for (const Row& row : rest) {
    for (const TimelineSpan* span : row.spans) {
      spans.push_back({static_cast<std::size_t>(span->phase), span->start, span->end});
    }
  }
  svg.rect(plot.left, y, plot.right() - plot.left, height, "row");
  Plot strip = plot;
  strip.top = y;
  strip.height = height;
  StepLevels levels(spans, kPhases, plot.end, kMaxSteps);
  for (std::size_t kind = 0; kind < kPhases; ++kind) {
    if (!levels.has(kind)) continue;
    svg.path(band(levels, kind, strip, height / static_cast<double>(rest.size())), kKinds[kind]);
  }
}

std::string description_of(const std::vector<Row>& rows, Duration end) {
  std::string text = fmt::format("{} device{} over {}.", rows.size(), rows.size() == 1 ? "" : "s",
                                 format_duration(end));
  for (std::size_t i = 0; i < std::min(rows.size(), kDevicesInText); ++i) {
    text += fmt::format(" {}: {} jobs, busy {} of the time.", rows[i].name, rows[i].spans.size(),
                        percent(rows[i].busy_seconds / seconds(end)));
  }
  if (rows.size() > kDevicesInText) {
    text += fmt::format(" And {} more.", rows.size() - kDevicesInText);
  }
  return text;
}

std::vector<LegendEntry> legend_of(const Timeline& timeline, bool devices_only) {
  std::array<bool, kPhases> is_there{};
  bool any_lost = false;
  for (const TimelineSpan& span : timeline.spans) {
    if (devices_only && !on_device(span.phase)) continue;
    is_there[static_cast<std::size_t>(span.phase)] = true;
    any_lost = any_lost || !span.useful;
  }
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < kPhases; ++i) {
    if (is_there[i]) entries.push_back({kKinds[i], std::string(to_string(static_cast<Phase>(i)))});
  }
  if (devices_only && any_lost) entries.push_back({"lost", "without a result", true});
  return entries;
}

}  // namespace

std::string in_flight_picture(const Timeline& timeline, SvgForm form) {
  const std::string title = "In progress, by phase";
  if (is_empty(timeline)) return nothing_yet(title, form);
  std::vector<KindSpan> spans;
  for (const TimelineSpan& span : timeline.spans) {
    spans.push_back({static_cast<std::size_t>(span.phase), span.start, span.end});
  }
  StepLevels levels(spans, kPhases, timeline.end, kMaxSteps);
  const double highest = std::max(levels.highest(), 1.0);
  Plot plot{.left = left_of(timeline), .height = 200, .end = timeline.end};
  std::string description = fmt::format(
      "Over {}, at most {} requests and jobs at once. On average:", format_duration(timeline.end),
      svg_number(highest));
  for (std::size_t kind = 0; kind < kPhases; ++kind) {
    if (!levels.has(kind)) continue;
    description +=
        fmt::format(" {} {:.2g};", to_string(static_cast<Phase>(kind)), levels.mean(kind));
  }
  Svg svg({.width = kWidth,
           .height = plot.bottom() + kBottom,
           .title = title,
           .description = description,
           .form = form});
  draw_legend(svg, legend_of(timeline, false));
  draw_levels(svg, plot, highest);
  for (std::size_t kind = 0; kind < kPhases; ++kind) {
    if (levels.has(kind)) {
      svg.path(band(levels, kind, plot, plot.height / highest), kKinds[kind]);
    }
  }
  draw_time_axis(svg, plot);
  return std::move(svg).finish();
}

std::string device_picture(const Timeline& timeline, SvgForm form) {
  const std::string title = "Devices";
  std::vector<Row> rows = rows_of(timeline);
  if (is_empty(timeline) || rows.empty()) return nothing_yet(title, form);
  const bool all_fit = rows.size() <= kMaxRows;
  const std::size_t own = all_fit ? rows.size() : kMaxRows - 1;
  const double height = own <= 8 ? 22 : own <= 24 ? 14 : 8;
  const double pitch = height + (own <= 8 ? 6 : own <= 24 ? 3 : 2);
  constexpr double kRestHeight = 44;
  std::size_t spans = 0;
  for (std::size_t i = 0; i < own; ++i) spans += rows[i].spans.size();
  Plot plot{.left = left_of(timeline),
            .height = pitch * static_cast<double>(own) + (all_fit ? 0 : kRestHeight + 2),
            .end = timeline.end};
  Svg svg({.width = kWidth,
           .height = plot.bottom() + kBottom,
           .title = title,
           .description = description_of(rows, timeline.end),
           .form = form});
  draw_legend(svg, legend_of(timeline, true));
  const std::size_t every = pitch < 12 ? 2 : 1;  // skip names that would overlap
  for (std::size_t i = 0; i < own; ++i) {
    const double y = plot.top + pitch * static_cast<double>(i);
    if (i % every == 0) {
      svg.text(plot.left - 8, y + height / 2 + 4, rows[i].name, "label", Anchor::end);
    }
    draw_row(svg, plot, rows[i], y, height, spans > kMaxSpans);
  }
  if (!all_fit) {
    const double y = plot.top + pitch * static_cast<double>(own);
    auto rest = std::span(rows).subspan(own);
    svg.text(plot.left - 8, y + kRestHeight / 2 + 4, fmt::format("{} more", rest.size()), "label",
             Anchor::end);
    draw_the_rest(svg, plot, rest, y, kRestHeight);
  }
  draw_time_axis(svg, plot);
  return std::move(svg).finish();
}

std::string utilisation_picture(const Timeline& timeline, SvgForm form) {
  const std::string title = "Utilisation of the devices";
  const double devices = static_cast<double>(rows_of(timeline).size());
  if (is_empty(timeline) || devices == 0) return nothing_yet(title, form);
  std::vector<KindSpan> spans;
  for (const TimelineSpan& span : timeline.spans) {
    if (!on_device(span.phase)) continue;
    spans.push_back({span.useful ? std::size_t{0} : std::size_t{1}, span.start, span.end});
  }
  StepLevels levels = StepLevels::averaged(spans, 2, timeline.end, kIntervals);
  const double useful = levels.mean(0) / devices, wasted = levels.mean(1) / devices;
  Plot plot{.left = left_of(timeline), .height = 150, .end = timeline.end};
  Svg svg({.width = kWidth,
           .height = plot.bottom() + kBottom,
           .title = title,
           .description = fmt::format("Of the time of {} devices over {}, {} was used for "
                                      "evaluation and {} had no result.",
                                      devices, format_duration(timeline.end), percent(useful),
                                      percent(wasted)),
           .form = form});
  draw_legend(svg, {{"busy", "evaluation: " + percent(useful)},
                    {"lost", "without a result: " + percent(wasted), true}});
  for (double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double y = plot.bottom() - plot.height * tick;
    if (tick > 0) svg.line(plot.left, y, plot.right(), y, "rule");
    svg.text(plot.left - 8, y + 4, percent(tick), "label", Anchor::end);
  }
  svg.path(band(levels, 0, plot, plot.height / devices), "busy");
  for (std::size_t i = 0; i < levels.steps(); ++i) {
    const double height = plot.height * levels.level(i, 1) / devices;
    if (height < 0.1) continue;
    const double base = plot.bottom() - plot.height * levels.level(i, 0) / devices;
    svg.hatch(plot.x(levels.begin(i)), base - height,
              plot.x(levels.end(i)) - plot.x(levels.begin(i)), height, "lost");
  }
  const double mean = plot.bottom() - plot.height * useful;
  svg.line(plot.left, mean, plot.right(), mean, "mean");
  draw_time_axis(svg, plot);
  return std::move(svg).finish();
}

std::string pictures_for_page(const Timeline& timeline) {
  std::string page;
  for (auto* picture : {&in_flight_picture, &device_picture, &utilisation_picture}) {
    page += "<div class=\"panel scroll\">\n" + picture(timeline, SvgForm::inside_page) + "</div>\n";
  }
  return page;
}

}  // namespace specgen
