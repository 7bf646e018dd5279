#include "evaluate/task/distribution.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.h"

namespace specgen {
namespace {

using Kind = Distribution::Kind;

struct KindFacts {
  std::string_view name;
  std::size_t numbers;
  std::string_view use;
};
constexpr std::array<KindFacts, 6> kKinds{{{"normal", 2, "normal(mean, deviation)"},
                                           {"uniform", 2, "uniform(low, high)"},
                                           {"heavy", 1, "heavy(scale)"},
                                           {"positive", 2, "positive(low, high)"},
                                           {"integers", 2, "integers(low, high)"},
                                           {"signs", 0, "signs()"}}};
constexpr double kMaxDeviations = 3.47;  // of a normal number, by how it is made
constexpr double kHeaviest = 64;
constexpr double kMaxExact = 0x1p53;

const KindFacts& facts(Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::optional<double> parse_number(std::string_view text) {
  text = trim(text);
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

// What is wrong with the numbers, or nothing.
std::string_view mistake_in(const Distribution& distribution) {
  auto [kind, a, b] = distribution;
  if (kind == Kind::signs) return "";
  if (kind == Kind::normal) return b > 0 ? "" : "the deviation must be above 0";
  if (kind == Kind::heavy) return a > 0 ? "" : "the scale must be above 0";
  if (!(a < b)) return "low must be below high";
  if (!std::isfinite(b - a)) return "the range is too wide";
  if (kind == Kind::positive && a <= 0) return "low must be above 0";
  if (kind != Kind::integers) return "";
  if (a != std::trunc(a) || b != std::trunc(b)) return "both must be integers";
  return std::max(std::abs(a), std::abs(b)) <= kMaxExact ? "" : "both must be at most 2^53";
}

double largest(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return std::numeric_limits<double>::max();
    case Dtype::f32:
      return static_cast<double>(std::numeric_limits<float>::max());
    case Dtype::f16:
      return 65504;
    case Dtype::bf16:
      return 0x1.fep127;
    case Dtype::i64:
      return kMaxExact;
    case Dtype::i32:
      return 2147483647;
    case Dtype::u8:
      return 255;
  }
  return 0;
}

}  // namespace

std::string Distribution::text() const {
  if (kind == Kind::signs) return "signs()";
  if (kind == Kind::heavy) return fmt::format("heavy({})", a);
  return fmt::format("{}({}, {})", facts(kind).name, a, b);
}

Result<Distribution> parse_distribution(std::string_view text) {
  text = trim(text);
  std::size_t open = text.find('(');
  std::string_view name = trim(text.substr(0, open));
  auto known = std::ranges::find(kKinds, name, &KindFacts::name);
  if (known == kKinds.end()) {
    std::vector<std::string> names;
    for (const KindFacts& kind : kKinds) names.emplace_back(kind.name);
    return fail(ErrorCode::bad_task,
                fmt::format("there is no distribution '{}'{}", name, did_you_mean(name, names)));
  }
  auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::bad_task, fmt::format("'{}': {}", text, why));
  };
  if (open == std::string_view::npos || !text.ends_with(')')) {
    return wrong(fmt::format("write {}", known->use));
  }
  std::vector<double> numbers;
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  for (std::string_view part : split(inside, ',')) {
    if (known->numbers == 0 && trim(inside).empty()) break;
    std::optional<double> number = parse_number(part);
    if (!number) return wrong(fmt::format("'{}' is not a number", trim(part)));
    numbers.push_back(*number);
  }
  if (numbers.size() != known->numbers) return wrong(fmt::format("write {}", known->use));
  Distribution distribution{static_cast<Kind>(known - kKinds.begin()), -1, 1};  // signs' own
  if (!numbers.empty()) distribution.a = numbers[0];
  if (numbers.size() > 1) distribution.b = numbers[1];
  std::string_view mistake = mistake_in(distribution);
  if (!mistake.empty()) return wrong(mistake);
  return distribution;
}

Result<void> check_fits(const Distribution& distribution, Dtype dtype) {
  auto [kind, a, b] = distribution;
  auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::bad_task,
                fmt::format("{} of {}: {}", distribution.text(), to_string(dtype), why));
  };
  if (!is_float(dtype) && kind != Kind::integers && kind != Kind::signs) {
    return wrong("integer tensors take integers(low, high)");
  }
  double low = a, high = b;
  if (kind == Kind::normal) {
    low = a - kMaxDeviations * b;
    high = a + kMaxDeviations * b;
  } else if (kind == Kind::heavy) {
    high = kMaxDeviations * kHeaviest * a;
    low = -high;
  } else if (kind == Kind::integers) {
    high = b - 1;
  }
  double least = dtype == Dtype::u8 ? 0 : dtype == Dtype::i32 ? -2147483648.0 : -largest(dtype);
  // Numbers are made in single precision unless they are f64, so a width must fit there too.
  bool fits = low >= least && high <= largest(dtype) &&
              (dtype == Dtype::f64 || high - low <= largest(Dtype::f32));
  if (!fits) return wrong("numbers may come that it cannot hold");
  return {};
}

}  // namespace specgen
