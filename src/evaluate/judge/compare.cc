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
constexpr double kWrong = 0.02;           // of the scale: more than rounding can cause
constexpr std::size_t kBlock = 512;       // elements; as doubles they fit the L1 cache
constexpr std::size_t kParallelSums = 4;  // a fixed order of summation that vectorises

// Among equals the first counts, whatever the order in which they are merged.
bool is_worse(const OutputReport& report, double ratio, std::int64_t index) {
  return report.worst_at < 0 || ratio > report.worst_ratio ||
         (ratio == report.worst_ratio && index < report.worst_at);
}

// One element that counts in the plain statistics.
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

// The complete test of one element; specgen_compare does the same on a device.
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
            value * value;  // of the reference: a candidate must not choose its own measure
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
  std::array<double, kParallelSums> error_squares{};
  std::array<double, kParallelSums> value_squares{};
  std::array<double, kParallelSums> worst_ratio{};
  std::array<std::int64_t, kParallelSums> troubled{};
};

// A block of elements in one pass without branches. False, with nothing added, if one of them needs the complete test
// or is the worst so far.
bool add_untroubled(OutputReport& report, std::span<const double> got,
                    std::span<const double> value, std::span<const double> scale,
                    const Bounds& bounds) {
  Sums sums;
  auto one = [&](std::size_t i, std::size_t column) {
    double error = std::abs(got[i] - value[i]);
    double bound =
        bounds.scale_factor * scale[i] + bounds.value_factor * std::abs(value[i]) + bounds.floor;
    double ratio = error > 0 ? error / bound : 0;
    // A NaN fails; an infinite or negative scale is no measure.
    bool fine = (error <= bound) & (scale[i] >= 0) & (bound < kInfinity);
    sums.troubled[column] += fine ? 0 : 1;
    sums.error_squares[column] += error * error;
    sums.value_squares[column] += value[i] * value[i];
    sums.worst_ratio[column] = ratio > sums.worst_ratio[column] ? ratio : sums.worst_ratio[column];
  };
  std::size_t whole = got.size() / kParallelSums * kParallelSums;
  for (std::size_t i = 0; i < whole; i += kParallelSums) {
    for (std::size_t column = 0; column < kParallelSums; ++column) one(i + column, column);
  }
  for (std::size_t i = whole; i < got.size(); ++i) one(i, 0);
  for (std::size_t column = 0; column < kParallelSums; ++column) {
    if (sums.troubled[column] > 0 || sums.worst_ratio[column] > report.worst_ratio) return false;
  }
  if (report.worst_at < 0) return false;
  report.elements += static_cast<std::int64_t>(got.size());
  for (std::size_t column = 0; column < kParallelSums; ++column) {
    report.error_squares += sums.error_squares[column];
    report.value_squares += sums.value_squares[column];
  }
  return true;
}

// Elements in order from `first`, block by block.
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

// With as many digits as it takes to show the difference.
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

// For a hidden case: the share in one digit, which does not reveal the number of elements.
std::string share_text(std::int64_t some, std::int64_t all) {
  if (some == all) return "all";
  double percent = 100.0 * static_cast<double>(some) / static_cast<double>(all);
  if (percent < 1) return "less than 1 %";
  if (percent < 10) return fmt::format("about {:.0f} %", percent);
  return percent > 95 ? "nearly all" : fmt::format("about {:.0f} %", std::round(percent / 10) * 10);
}

struct OutputText {
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
  // The worst element of the two: by kind, then the first, or the largest error.
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
  SG_ASSERT(got.size() == tensor.bytes() && baseline.size() == got.size(),
            "both are whole tensors");
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
  OutputText text_of{of, tensor, report};
  if (report.unwritten > 0) {
    std::string count = text_of.counted(report.unwritten);
    return text_of.found(Verdict::unwritten,
                         fmt::format("{} was never written; {} still hold their initial contents",
                                     text_of.where(), count),
                         count + " were never written");
  }
  if (report.nonfinite > 0) {
    std::string count = text_of.counted(report.nonfinite);
    return text_of.found(
        Verdict::nonfinite,
        fmt::format("{} is {}, expected {:.4g}; {} are not finite", text_of.where(),
                    report.worst_got, report.worst_expected, count),
        count + " are not finite, but should be");
  }
  if (report.beyond > 0) {
    bool wrong = report.worst_relative > kWrong;
    std::string count = text_of.counted(report.beyond);
    // Integers and infinities have no bound.
    bool has_bound = report.worst_ratio < kInfinity;
    std::string times = times_text(report.worst_ratio);
    return text_of.found(
        wrong ? Verdict::wrong : Verdict::imprecise,
        fmt::format("{} is {}{}; {} are outside", text_of.where(), text_of.what(),
                    has_bound ? fmt::format(" (error {} times the bound)", times) : "", count),
        fmt::format("{} are outside the bound{}", count,
                    has_bound ? fmt::format(", the worst by {} times", times) : ""));
  }
  double floor = 0.25 * unit_roundoff(tensor.dtype) * report.rms_value();
  double measure = std::max(baseline_rms, floor);
  // On few elements the baseline may be exact by luck, so only the bound decides.
  constexpr std::int64_t kFewElements = 64;
  bool enough = report.elements >= kFewElements;
  if (enough && baseline_rms >= 0 && measure > 0 &&
      report.rms_error() > tolerance.rms_factor * measure) {
    std::string text = fmt::format(
        "{} RMS error is {} times that of the baseline: products or sums are rounded too early",
        of.hidden ? tensor.name + "'s" : "its", times_text(report.rms_error() / measure));
    return text_of.found(Verdict::imprecise, fmt::format("{}: {}", tensor.name, text), text);
  }
  return {};
}

}  // namespace specgen
