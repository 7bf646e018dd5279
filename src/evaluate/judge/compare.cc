#include "evaluate/judge/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "base/assert.h"

namespace specgen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWrong = 0.02;      // of the scale: no rounding does that
constexpr std::size_t kBlock = 512;  // elements, as doubles in the nearest cache
constexpr std::size_t kLanes = 4;    // sums in a fixed order that vectorises

// Of equals the first is told, in whatever order they come.
bool is_worse(const OutputReport& report, double ratio, std::int64_t index) {
  return report.worst_at < 0 || ratio > report.worst_ratio ||
         (ratio == report.worst_ratio && index < report.worst_at);
}

// One element that takes part in the plain statistics.
void add_plain(OutputReport& report, std::int64_t index, double got, double value, double scale,
               double error, double bound) {
  report.error_squares += error * error;
  report.value_squares += value * value;
  double ratio = error > 0 ? error / bound : 0;
  if (!(error <= bound)) {
    ++report.beyond;
    report.worst_relative = std::max(report.worst_relative, scale > 0 ? error / scale : kInfinity);
  }
  bool worst_is_plain = report.unwritten == 0 && report.nonfinite == 0;
  if (worst_is_plain && is_worse(report, ratio, index)) {
    report.worst_at = index;
    report.worst_expected = value;
    report.worst_got = got;
  }
  report.worst_ratio = std::max(report.worst_ratio, ratio);
}

// Everything that can be said of one element; specgen_compare repeats it.
void add_element(OutputReport& report, std::int64_t index, double got, bool is_poison, double value,
                 double scale, const Bounds& bounds) {
  ++report.elements;
  bool same = got == value || (std::isnan(got) && std::isnan(value));
  bool take_over = false;
  if (is_poison && (std::isnan(got) || !same)) {
    take_over = report.unwritten == 0 || index < report.worst_at;
    ++report.unwritten;
  } else if (same) {
    if (std::isfinite(value)) add_plain(report, index, got, value, scale, 0, 1);
  } else if (!std::isfinite(value)) {
    ++report.beyond;
    report.worst_relative = kInfinity;
    take_over =
        report.unwritten == 0 && report.nonfinite == 0 && is_worse(report, kInfinity, index);
    report.worst_ratio = kInfinity;
  } else {
    scale = std::isfinite(scale) ? std::abs(scale) : std::abs(value);
    double bound =
        bounds.scale_factor * scale + bounds.value_factor * std::abs(value) + bounds.floor;
    if (std::isfinite(got)) {
      add_plain(report, index, got, value, scale, std::abs(got - value), bound);
    } else {
      bool may_overflow =
          std::isinf(got) && (got > 0) == (value > 0) && std::abs(value) + bound >= bounds.overflow;
      if (may_overflow) {
        report.value_squares +=
            value * value;  // what errors are measured by is not the candidate's to choose
      } else {
        take_over = report.unwritten == 0 && (report.nonfinite == 0 || index < report.worst_at);
        ++report.nonfinite;
      }
    }
  }
  if (take_over) {
    report.worst_at = index;
    report.worst_expected = value;
    report.worst_got = got;
  }
}

struct Sums {
  std::array<double, kLanes> error_squares{};
  std::array<double, kLanes> value_squares{};
  std::array<double, kLanes> worst_ratio{};
  std::array<std::int64_t, kLanes> troubled{};
};

// A block of elements in one pass without branches. False if one of them needs a closer look or is
// the worst so far, and then nothing was added.
bool add_untroubled(OutputReport& report, std::span<const double> got,
                    std::span<const double> value, std::span<const double> scale,
                    const Bounds& bounds) {
  Sums sums;
  auto one = [&](std::size_t i, std::size_t lane) {
    double error = std::abs(got[i] - value[i]);
    double bound =
        bounds.scale_factor * scale[i] + bounds.value_factor * std::abs(value[i]) + bounds.floor;
    double ratio = error > 0 ? error / bound : 0;
    // NaN of any kind fails; a scale that is infinite or negative is no measure.
    bool fine = (error <= bound) & (scale[i] >= 0) & (bound < kInfinity);
    sums.troubled[lane] += fine ? 0 : 1;
    sums.error_squares[lane] += error * error;
    sums.value_squares[lane] += value[i] * value[i];
    sums.worst_ratio[lane] = ratio > sums.worst_ratio[lane] ? ratio : sums.worst_ratio[lane];
  };
  std::size_t whole = got.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) one(i + lane, lane);
  }
  for (std::size_t i = whole; i < got.size(); ++i) one(i, 0);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (sums.troubled[lane] > 0 || sums.worst_ratio[lane] > report.worst_ratio) return false;
  }
  if (report.worst_at < 0) return false;
  report.elements += static_cast<std::int64_t>(got.size());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    report.error_squares += sums.error_squares[lane];
    report.value_squares += sums.value_squares[lane];
  }
  return true;
}

// What is looked at: elements in order from `first`, block by block.
void add_block(OutputReport& report, const Tensor& tensor, std::span<const std::byte> whole,
               std::int64_t first, std::span<const double> value, std::span<const double> scale,
               const Bounds& bounds, Poison poison) {
  std::size_t size = size_of(tensor.dtype);
  auto begin = static_cast<std::size_t>(first);
  std::array<double, kBlock> buffer;
  std::span got = std::span(buffer).first(value.size());
  to_doubles(tensor.dtype, whole.subspan(begin * size, got.size() * size), got);
  if (add_untroubled(report, got, value, scale, bounds)) return;
  for (std::size_t i = 0; i < got.size(); ++i) {
    add_element(report, first + static_cast<std::int64_t>(i), got[i],
                is_poison(tensor.dtype, whole, begin + i, poison), value[i], scale[i], bounds);
  }
}

std::vector<std::int64_t> index_of(const Tensor& tensor, std::int64_t at) {
  std::vector<std::int64_t> index(tensor.shape.size());
  for (std::size_t i = index.size(); i > 0; --i) {
    index[i - 1] = at % tensor.shape[i - 1];
    at /= tensor.shape[i - 1];
  }
  return index;
}

std::string element_text(const Tensor& tensor, std::int64_t at) {
  std::string text;
  for (std::int64_t i : index_of(tensor, at)) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
  }
  return text.empty() ? tensor.name : fmt::format("{}[{}]", tensor.name, text);
}

// With as many digits as it takes to tell them apart.
std::string difference_text(double got, double expected) {
  for (int digits : {4, 6, 9}) {
    std::string left = fmt::format("{:#.{}g}", got, digits);
    std::string right = fmt::format("{:#.{}g}", expected, digits);
    bool whole = got == std::trunc(got) && expected == std::trunc(expected);
    if (whole && std::abs(got) < 1e15 && std::abs(expected) < 1e15) {
      left = fmt::format("{:.0f}", got);
      right = fmt::format("{:.0f}", expected);
    }
    if (left != right) return fmt::format("{}, expected {}", left, right);
  }
  return fmt::format("{}, expected {}", got, expected);
}

std::string times_text(double ratio) {
  if (!(ratio < 1e6)) return "more than a million";
  return ratio < 10 ? fmt::format("{:.1f}", ratio) : fmt::format("{:.0f}", ratio);
}

// Of a hidden case: the share in one digit, which does not tell how many elements there are.
std::string share_text(std::int64_t some, std::int64_t all) {
  if (some == all) return "all";
  double percent = 100.0 * static_cast<double>(some) / static_cast<double>(all);
  if (percent < 1) return "less than 1 %";
  if (percent < 10) return fmt::format("about {:.0f} %", percent);
  return percent > 95 ? "nearly all" : fmt::format("about {:.0f} %", std::round(percent / 10) * 10);
}

struct Wording {
  const Case& of;
  const Tensor& tensor;
  const OutputReport& report;

  std::string counted(std::int64_t some) const {
    if (of.hidden) {
      return fmt::format("{} of the elements of {}", share_text(some, report.elements),
                         tensor.name);
    }
    return fmt::format("{} of {}{} elements", some, report.elements,
                       report.elements < tensor.elements ? " sampled" : "");
  }
  std::string where() const { return element_text(tensor, report.worst_at); }
  std::string what() const { return difference_text(report.worst_got, report.worst_expected); }

  Finding found(Verdict verdict, std::string of_public, std::string of_hidden) const {
    Finding result = finding(
        verdict,
        of.hidden ? fmt::format("in a hidden case of the class {}: {}", of.hidden_class, of_hidden)
                  : std::move(of_public));
    result.evidence.case_name = of.title();
    if (!of.hidden && report.worst_at >= 0) {
      result.evidence.worst.push_back({tensor.name, index_of(tensor, report.worst_at),
                                       report.worst_expected, report.worst_got});
    }
    return result;
  }
};

double overflow_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return 0x1.ffffffp127;
    case Dtype::f16:
      return 65520;
    case Dtype::bf16:
      return 0x1.ffp127;
    default:
      return kInfinity;
  }
}

double floor_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return std::numeric_limits<double>::min();
    case Dtype::f32:
    case Dtype::bf16:
      return 1e-30;
    case Dtype::f16:
      return 0x1p-24;
    default:
      return 0;
  }
}

}  // namespace

Tolerance tolerance_of(const CheckPolicy& policy, const Case& of, Dtype output) {
  if (!is_float(output)) return {};  // exact
  return {.scale_factor = policy.tolerance * policy.unit_roundoff * (2 + std::sqrt(of.reduction)),
          .value_factor = 1.01 * unit_roundoff(output)};
}

Bounds bounds_of(const Tolerance& tolerance, Dtype output) {
  return {tolerance.scale_factor, tolerance.value_factor, floor_of(output), overflow_of(output)};
}

Bounds baseline_bounds_of(const Tolerance& tolerance, Dtype output) {
  return {2 * tolerance.scale_factor, 2 * tolerance.value_factor, floor_of(output),
          overflow_of(output)};
}

double OutputReport::rms_error() const {
  return elements > 0 ? std::sqrt(error_squares / static_cast<double>(elements)) : 0;
}
double OutputReport::rms_value() const {
  return elements > 0 ? std::sqrt(value_squares / static_cast<double>(elements)) : 0;
}

void merge(OutputReport& into, const OutputReport& more) {
  // Which of the two names the element that tells most: by kind, then the first, or the worst.
  auto earlier = [&](std::int64_t ours, std::int64_t theirs) {
    if (ours == 0 || theirs == 0) return theirs > 0;
    return more.worst_at < into.worst_at;
  };
  bool take = false;
  if (more.worst_at < 0 || into.worst_at < 0) {
    take = into.worst_at < 0;
  } else if (into.unwritten + more.unwritten > 0) {
    take = earlier(into.unwritten, more.unwritten);
  } else if (into.nonfinite + more.nonfinite > 0) {
    take = earlier(into.nonfinite, more.nonfinite);
  } else {
    take = more.worst_ratio > into.worst_ratio ||
           (more.worst_ratio == into.worst_ratio && more.worst_at < into.worst_at);
  }
  if (take) {
    into.worst_at = more.worst_at;
    into.worst_expected = more.worst_expected;
    into.worst_got = more.worst_got;
  }
  into.elements += more.elements;
  into.unwritten += more.unwritten;
  into.nonfinite += more.nonfinite;
  into.beyond += more.beyond;
  into.worst_ratio = std::max(into.worst_ratio, more.worst_ratio);
  into.worst_relative = std::max(into.worst_relative, more.worst_relative);
  into.error_squares += more.error_squares;
  into.value_squares += more.value_squares;
}

OutputReport compare(const Tensor& tensor, std::span<const std::byte> got, const Expected& expected,
                     const Tolerance& tolerance, Poison poison) {
  SG_ASSERT(got.size() == tensor.bytes(), "the whole tensor");
  SG_ASSERT(expected.value.size() == expected.scale.size(), "a scale for every value");
  Bounds bounds = bounds_of(tolerance, tensor.dtype);
  OutputReport report;
  std::size_t count = expected.value.size();
  if (expected.at.empty()) {
    auto first = static_cast<std::size_t>(expected.first);
    auto elements = static_cast<std::size_t>(tensor.elements);
    SG_ASSERT(first <= elements && count <= elements - first, "a part of the tensor");
    for (std::size_t i = 0; i < count; i += kBlock) {
      std::size_t size = std::min(kBlock, count - i);
      add_block(report, tensor, got, expected.first + static_cast<std::int64_t>(i),
                std::span(expected.value).subspan(i, size),
                std::span(expected.scale).subspan(i, size), bounds, poison);
    }
    return report;
  }
  SG_ASSERT(expected.at.size() == count, "an index for every value");
  for (std::size_t i = 0; i < count; ++i) {
    auto at = static_cast<std::size_t>(expected.at[i]);
    add_element(report, expected.at[i], load(tensor.dtype, got, at),
                is_poison(tensor.dtype, got, at, poison), expected.value[i], expected.scale[i],
                bounds);
  }
  return report;
}

OutputReport compare_with_baseline(const Tensor& tensor, std::span<const std::byte> got,
                                   std::span<const std::byte> baseline, double scale,
                                   const Tolerance& tolerance, Poison poison, Piece piece) {
  SG_ASSERT(got.size() == tensor.bytes() && baseline.size() == got.size(), "whole tensors");
  std::int64_t last = piece.count < 0 ? tensor.elements : piece.first + piece.count;
  SG_ASSERT(piece.first >= 0 && last <= tensor.elements, "a piece of the tensor");
  Bounds bounds = baseline_bounds_of(tolerance, tensor.dtype);
  std::size_t size = size_of(tensor.dtype);
  std::array<double, kBlock> values;
  std::array<double, kBlock> scales;
  scales.fill(scale);
  OutputReport report;
  for (std::int64_t first = piece.first; first < last; first += kBlock) {
    auto count = std::min(kBlock, static_cast<std::size_t>(last - first));
    std::span value = std::span(values).first(count);
    to_doubles(tensor.dtype, baseline.subspan(static_cast<std::size_t>(first) * size, count * size),
               value);
    add_block(report, tensor, got, first, value, std::span(scales).first(count), bounds, poison);
  }
  return report;
}

Finding judge_output(const Case& of, const Tensor& tensor, const OutputReport& report,
                     const Tolerance& tolerance, double baseline_rms) {
  Wording words{of, tensor, report};
  if (report.unwritten > 0) {
    std::string count = words.counted(report.unwritten);
    return words.found(Verdict::unwritten,
                       fmt::format("{} was never written; {} still hold what was there before",
                                   words.where(), count),
                       count + " were never written");
  }
  if (report.nonfinite > 0) {
    std::string count = words.counted(report.nonfinite);
    return words.found(Verdict::nonfinite,
                       fmt::format("{} is {}, expected {:.4g}; {} are not finite", words.where(),
                                   report.worst_got, report.worst_expected, count),
                       count + " are not finite, and should be");
  }
  if (report.beyond > 0) {
    bool wrong = report.worst_relative > kWrong;
    std::string count = words.counted(report.beyond);
    // Of integers and infinities there is no bound to speak of.
    bool has_bound = report.worst_ratio < kInfinity;
    std::string times = times_text(report.worst_ratio);
    return words.found(
        wrong ? Verdict::wrong : Verdict::imprecise,
        fmt::format("{} is {}{}; {} are outside", words.where(), words.what(),
                    has_bound ? fmt::format(" (error {} times the bound)", times) : "", count),
        fmt::format("{} are outside the bound{}", count,
                    has_bound ? fmt::format(", the worst by {} times", times) : ""));
  }
  double floor = 0.25 * unit_roundoff(tensor.dtype) * report.rms_value();
  double measure = std::max(baseline_rms, floor);
  // Of a few elements the baseline may have been lucky; there the bound alone decides.
  constexpr std::int64_t kFewElements = 64;
  bool enough = report.elements >= kFewElements;
  if (enough && baseline_rms >= 0 && measure > 0 &&
      report.rms_error() > tolerance.rms_factor * measure) {
    std::string text = fmt::format(
        "{} RMS error is {} times that of the baseline: products or sums are rounded too early",
        of.hidden ? tensor.name + "'s" : "its", times_text(report.rms_error() / measure));
    return words.found(Verdict::imprecise, fmt::format("{}: {}", tensor.name, text), text);
  }
  return {};
}

}  // namespace specgen
