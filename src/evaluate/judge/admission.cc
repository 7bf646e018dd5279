#include "evaluate/judge/admission.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/random.h"

namespace specgen {
namespace {

constexpr Poison kPoison{0x5eed};

struct Variant {
  std::string name;
  bool must_pass = false;
  bool is_gross = false;  // the bound alone must refuse it: large cases have no other check
  std::function<void(std::vector<double>&)> change;  // changes the expected values
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// For a constant output some cheats are correct by accident.
bool is_constant(const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
}

Finding judge_variant(const CheckPoint& point, std::size_t output,
                      const std::vector<double>& values, bool by_bound_alone) {
  const Tensor& tensor = point.at.outputs[output];
  std::vector<std::byte> bytes(tensor.bytes());
  from_doubles(tensor.dtype, values, bytes);
  OutputReport report =
      compare(tensor, bytes, point.expected[output], point.tolerances[output], kPoison);
  bool is_known = !by_bound_alone && output < point.baseline_rms.size();
  double honest = is_known ? point.baseline_rms[output] : -1;
  return judge_output(point.at, tensor, report, point.tolerances[output], honest);
}

std::vector<Variant> variants_for(const CheckPoint& point, const CheckPoint& other,
                                  const std::vector<std::vector<double>>& inputs,
                                  std::size_t output) {
  const Expected& expected = point.expected[output];
  const Tensor& tensor = point.at.outputs[output];
  auto constant = [](double number) {
    return [number](std::vector<double>& values) { std::ranges::fill(values, number); };
  };
  std::vector<Variant> all{
      {"zeros", false, true, constant(0)},
      {"ones", false, true, constant(1)},
      {"the mean", false, true, constant(mean_of(expected.value))},
      {"the output of another input", false, true,
       [&other, output](std::vector<double>& values) { values = other.expected[output].value; }}};
  if (is_float(tensor.dtype)) all.push_back({"NaN", false, true, constant(std::nan(""))});
  for (const std::vector<double>& input : inputs) {
    all.push_back({"a copy of an input", false, true, [&input](std::vector<double>& values) {
                     for (std::size_t i = 0; i < values.size(); ++i) {
                       values[i] = input[i % input.size()];
                     }
                   }});
  }
  // Noise like that of rounding: a share of each element's scale.
  auto noisy = [&expected](double share) {
    return [&expected, share](std::vector<double>& values) {
      Random random(7);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] += share * expected.scale[i] * random.uniform(-1, 1);
      }
    };
  };
  if (is_float(tensor.dtype)) {
    bool coarse = unit_roundoff(tensor.dtype) > 1e-5;
    // As much noise as the baseline's own sums have (a uniform variable has a third of its square). The
    // rounding of a coarse output hides that, so there as much as f32 sums have.
    double honest = output < point.baseline_rms.size() ? point.baseline_rms[output] : 0;
    double share = std::sqrt(3.0) * honest / std::max(root_mean_square(expected.scale), 1e-300);
    all.push_back({"sums in another order", true, false, noisy(coarse ? 0x1p-23 : share)});
    // Without sums and with an output that is as coarse itself, half precision is correct.
    double half = tensor.dtype == Dtype::bf16 ? 0x1p-8 : 0x1p-11;
    if (!coarse || point.at.reduction >= 16) {
      all.push_back({"sums in half precision", false, false, noisy(coarse ? 4 * half : half)});
    }
  }
  return all;
}

}  // namespace

void try_variants(const CheckPoint& point, const CheckPoint& other,
                  const std::vector<std::vector<std::byte>>& inputs, Admission& into,
                  CheatTallies& tallies) {
  std::vector<std::vector<double>> numbers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& values = numbers.emplace_back(static_cast<std::size_t>(point.at.inputs[i].elements));
    to_doubles(point.at.inputs[i].dtype, inputs[i], values);
  }
  for (std::size_t output = 0; output < point.expected.size(); ++output) {
    const Expected& expected = point.expected[output];
    if (!expected.at.empty()) continue;  // samples only
    for (const Variant& variant : variants_for(point, other, numbers, output)) {
      std::vector<double> values = expected.value;
      variant.change(values);
      if (values == expected.value && !variant.must_pass) continue;  // correct by accident
      if (!variant.must_pass && variant.name == "the mean" && is_constant(expected.value)) continue;
      ++into.checks;
      ++tallies[variant.name].tried;
      Finding finding = judge_variant(point, output, values, variant.is_gross);
      if (finding.ok() == variant.must_pass) continue;
      AdmissionFault fault{variant.name, point.at.title(),
                           variant.must_pass
                               ? fmt::format("is refused ({}): {}", to_string(finding.verdict),
                                             finding.evidence.text)
                               : "is accepted"};
      constexpr std::size_t kFew = 16;
      bool by_accident = !variant.must_pass && values.size() < kFew;
      (by_accident ? tallies[variant.name].passed_small : into.faults).push_back(std::move(fault));
    }
  }
}

void count_tallies(const CheatTallies& tallies, Admission& into) {
  for (const auto& [name, tally] : tallies) {
    if (!tally.passed_small.empty() && tally.passed_small.size() == tally.tried) {
      into.faults.push_back(tally.passed_small.front());
    }
  }
}

Task<Result<Admission>> admit(Judge& judge, PreparedTask& prepared) {
  Admission admission;
  // The baseline as a candidate: every case, every guard.
  Validation honest = CO_TRY(co_await judge.validate(prepared, prepared.baseline));
  admission.checks += prepared.checks.size();
  if (!honest.finding.ok()) {
    admission.faults.push_back({"the baseline", honest.finding.evidence.case_name,
                                fmt::format("is judged {}: {}", to_string(honest.finding.verdict),
                                            honest.finding.evidence.text)});
  }
  CheatTallies tallies;
  for (const CheckPoint& point : prepared.checks) {
    CheckPoint other = point;
    other.seed ^= 0x9e3779b97f4a7c15;
    bool sampled = !point.expected.front().at.empty();
    if (sampled) continue;
    other.expected = CO_TRY(co_await prepared.source->expect(other.at, other.seed, 0));
    auto inputs = CO_TRY(co_await prepared.source->draw(point.at, point.seed));
    try_variants(point, other, inputs, admission, tallies);
  }
  count_tallies(tallies, admission);
  co_return admission;
}

}  // namespace specgen
