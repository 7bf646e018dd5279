#include "speculate/criterion.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

#include "base/text.h"

namespace specgen {
namespace {

using Kind = Criterion::Kind;
struct Named {
  Kind kind;
  std::string_view name;
  bool has_value;
};
constexpr std::array kNames{
    Named{Kind::beats_mean, "beats-mean", false}, Named{Kind::beats_best, "beats-best", false},
    Named{Kind::target, "target", true}, Named{Kind::peak_fraction, "peak-fraction", true},
    Named{Kind::never, "never", false}};

}  // namespace

Result<Criterion> parse_criterion(std::string_view text) {
  std::size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  for (const Named& known : kNames) {
    if (known.name != name) continue;
    if (known.has_value != (equals != std::string_view::npos)) {
      return fail(
          ErrorCode::bad_usage,
          fmt::format("--criterion {}: {}", text,
                      known.has_value ? "a number is missing, as in " + std::string(name) + "=2"
                                      : std::string(name) + " takes no number"));
    }
    Criterion criterion{.kind = known.kind};
    if (!known.has_value) return criterion;
    std::string_view digits = text.substr(equals + 1);
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), criterion.value);
    bool is_share = known.kind == Kind::peak_fraction;
    if (error != std::errc() || end != digits.data() + digits.size() || !(criterion.value > 0) ||
        criterion.value > (is_share ? 1 : 1e6)) {
      return fail(ErrorCode::bad_usage,
                  fmt::format("--criterion {}: '{}' is not a number {}", text, digits,
                              is_share ? "between 0 and 1" : "above 0"));
    }
    return criterion;
  }
  std::vector<std::string> names;
  for (const Named& known : kNames) names.emplace_back(known.name);
  return fail(ErrorCode::bad_usage, fmt::format("--criterion {}: there is none of this name{}",
                                                text, did_you_mean(name, names)));
}

std::string to_string(const Criterion& criterion) {
  for (const Named& known : kNames) {
    if (known.kind != criterion.kind) continue;
    return known.has_value ? fmt::format("{}={}", known.name, criterion.value)
                           : std::string(known.name);
  }
  SG_ASSERT(false, "a criterion without a name");
}

bool is_good_enough(const Criterion& criterion, const Judged& judged, double peak_fraction,
                    const SpeedupsSoFar& so_far) {
  if (!is_feedback(judged)) return false;
  switch (criterion.kind) {
    case Kind::beats_mean:
      return judged.speedup.low > so_far.mean;
    case Kind::beats_best:
      return judged.speedup.low > so_far.best;
    case Kind::target:
      return judged.speedup.median >= criterion.value;
    case Kind::peak_fraction:
      return peak_fraction >= criterion.value;
    case Kind::never:
      return false;
  }
  SG_ASSERT(false, "a criterion nobody knows");
}

}  // namespace specgen
