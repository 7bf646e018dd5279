#include "evaluate/task/cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "base/assert.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "runtime/entropy.h"

namespace specgen {
namespace {

constexpr std::int64_t kMaxAxis = std::int64_t{1} << 40;
constexpr std::int64_t kMaxBytes = std::int64_t{64} << 30;

std::unexpected<Error> wrong(const KernelTask& task, std::string_view why) {
  return fail(ErrorCode::bad_task, fmt::format("{}: {}", task.title(), why));
}

Result<void> check_axes(const KernelTask& task, const Values& axes) {
  std::vector<std::string> names;
  for (const AxisSpec& axis : task.axes) names.push_back(axis.name);
  for (const auto& [name, length] : axes) {
    auto axis = std::ranges::find(task.axes, name, &AxisSpec::name);
    if (axis == task.axes.end()) {
      return wrong(task, fmt::format("'{}' is not an axis{}", name, did_you_mean(name, names)));
    }
    if (length < 1 || length > kMaxAxis) {
      return wrong(task, fmt::format("axis {} = {} is not within 1 and 2^40", name, length));
    }
    if (length % axis->multiple != 0) {
      return wrong(
          task, fmt::format("axis {} = {} is not a multiple of {}", name, length, axis->multiple));
    }
  }
  for (const std::string& name : names) {
    if (!axes.contains(name)) return wrong(task, fmt::format("axis {} has no length", name));
  }
  return {};
}

Result<std::int64_t> evaluate(const KernelTask& task, const Expression& expression,
                              const Values& values) {
  auto value = expression.evaluate(values);
  if (!value) return wrong(task, value.error().context);
  return *value;
}

Result<Tensor> make_tensor(const KernelTask& task, const TensorSpec& spec, const Values& values) {
  Tensor tensor{spec.name, spec.dtype, {}, 1};
  std::int64_t bytes = static_cast<std::int64_t>(size_of(spec.dtype));
  for (const Expression& expression : spec.shape) {
    std::int64_t length = TRY(evaluate(task, expression, values));
    if (length <= 0) {
      return wrong(task, fmt::format("zero-size shape of {}: '{}' is {}", spec.name,
                                     expression.text(), length));
    }
    tensor.shape.push_back(length);
    // Every factor is at least 1, so the product only grows: beyond the limit its value does not matter.
    if (__builtin_mul_overflow(bytes, length, &bytes) || bytes > kMaxBytes) {
      return wrong(task, fmt::format("{} has more than 64 GiB", spec.name));
    }
    tensor.elements *= length;
  }
  return tensor;
}

bool is_prime(std::int64_t number) {
  if (number < 4) return number > 1;
  if (number % 2 == 0) return false;
  for (std::int64_t divisor = 3; divisor * divisor <= number; divisor += 2) {
    if (number % divisor == 0) return false;
  }
  return true;
}

// The allowed lengths of an axis, as multiples of its step, and those of its class.
struct Lengths {
  std::int64_t low;
  std::int64_t high;
  std::function<bool(std::int64_t)> wanted;

  // The wanted one nearest to `at` from below, else from above; `at` itself if there is none.
  std::int64_t nearest(std::int64_t at) const {
    for (std::int64_t i = at; i >= low; --i) {
      if (wanted(i)) return i;
    }
    for (std::int64_t i = at + 1; i <= high; ++i) {
      if (wanted(i)) return i;
    }
    return at;
  }
};

Lengths lengths_of(const AxisSpec& axis, std::string_view hidden_class) {
  Lengths lengths{(axis.low + axis.multiple - 1) / axis.multiple, axis.high / axis.multiple, {}};
  if (hidden_class == "odd") {
    lengths.wanted = [](std::int64_t i) { return i % 2 == 1; };
  } else if (hidden_class == "prime") {
    lengths.wanted = is_prime;
  } else {
    lengths.wanted = [](std::int64_t) { return true; };
  }
  return lengths;
}

struct Draft {
  std::vector<Lengths> lengths;
  std::vector<std::int64_t> chosen;

  Values axes(const KernelTask& task) const {
    Values values;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      values[task.axes[i].name] = chosen[i] * task.axes[i].multiple;
    }
    return values;
  }

  // Halves the longest axis that can be halved; false if there is none.
  bool shrink(const KernelTask& task) {
    std::size_t longest = chosen.size();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] == lengths[i].low) continue;
      if (longest == chosen.size() ||
          chosen[i] * task.axes[i].multiple > chosen[longest] * task.axes[longest].multiple) {
        longest = i;
      }
    }
    if (longest == chosen.size()) return false;
    const Lengths& of = lengths[longest];
    std::int64_t half = std::max(of.low, chosen[longest] / 2);
    std::int64_t fitting = of.nearest(half);
    chosen[longest] =
        fitting < chosen[longest] ? fitting : half;  // fitting is more important than the class
    return true;
  }
};

// A case that cannot be made counts as too large: an overflow is the likely reason.
bool too_large(const Result<Case>& made, std::int64_t most) {
  if (!made) return true;
  std::int64_t elements = 0;
  for (const auto* tensors : {&made->inputs, &made->outputs}) {
    for (const Tensor& tensor : *tensors) elements += tensor.elements;
  }
  return elements > most;
}

std::size_t draws_of(const KernelTask& task) {
  std::size_t most = 1;
  for (const TensorSpec& input : task.inputs) most = std::max(most, input.data.size());
  return most;
}

Result<Case> hidden_case(const KernelTask& task, const Secret& secret, std::uint64_t number) {
  constexpr std::array<std::string_view, 4> kClasses{"odd", "prime", "one", "any"};
  std::string_view hidden_class = kClasses[number % kClasses.size()];
  Random random(secret.derive("hidden case", number));
  Draft draft;
  for (const AxisSpec& axis : task.axes) {
    Lengths lengths = lengths_of(axis, hidden_class);
    SG_ASSERT(lengths.low <= lengths.high, "load_task() refuses axes without a length");
    auto count = static_cast<std::uint64_t>(lengths.high - lengths.low + 1);
    std::int64_t at = lengths.low + static_cast<std::int64_t>(random.below(count));
    draft.chosen.push_back(lengths.nearest(at));
    draft.lengths.push_back(std::move(lengths));
  }
  if (hidden_class == "one" && !task.axes.empty()) {
    std::size_t one = random.below(task.axes.size());
    draft.chosen[one] = draft.lengths[one].low;
  }
  Result<Case> made = make_case(task, draft.axes(task));
  while (too_large(made, task.hidden_elements) && draft.shrink(task)) {
    made = make_case(task, draft.axes(task));
  }
  if (!made) return made;
  if (too_large(made, task.hidden_elements)) {
    return wrong(task, fmt::format("the smallest hidden case has more than {} elements; raise "
                                   "'elements' in [hidden] or lower the axes' ranges",
                                   task.hidden_elements));
  }
  made->hidden = true;
  made->hidden_class = hidden_class;
  made->draw = random.below(draws_of(task));
  return made;
}

}  // namespace

std::uint64_t Secret::derive(std::string_view purpose, std::uint64_t number) const {
  std::string hash =
      sha256_hex(fmt::format("{:016x}{:016x}{:016x}{}", words[0], words[1], number, purpose));
  std::uint64_t value = 0;
  std::from_chars(hash.data(), hash.data() + 16, value, 16);
  return value;
}

Secret fresh_secret() {
  return {system_entropy()};
}

std::string Case::title() const {
  if (hidden) return fmt::format("hidden ({})", hidden_class);
  std::string text;
  auto add = [&](std::string_view name, std::int64_t length) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, length);
  };
  if (axis_order.empty()) {
    for (const auto& [name, length] : axes) add(name, length);
  }
  for (const std::string& name : axis_order) {
    if (auto found = axes.find(name); found != axes.end()) add(name, found->second);
  }
  if (draw > 0) text += fmt::format("{}data={}", text.empty() ? "" : " ", draw + 1);
  return text;
}

Bytes Case::footprint() const {
  Bytes all;
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const Tensor& tensor : *tensors) all.count += tensor.bytes();
  }
  return all;
}

Result<Case> make_case(const KernelTask& task, Values axes) {
  TRY(check_axes(task, axes));
  Values values = axes;
  values["sizeof_T"] = static_cast<std::int64_t>(size_of(task.element));
  Case made;
  made.axes = std::move(axes);
  for (const AxisSpec& axis : task.axes) made.axis_order.push_back(axis.name);
  for (const TensorSpec& input : task.inputs) {
    made.inputs.push_back(TRY(make_tensor(task, input, values)));
  }
  for (const TensorSpec& output : task.outputs) {
    made.outputs.push_back(TRY(make_tensor(task, output, values)));
  }
  std::int64_t bytes = TRY(evaluate(task, task.bytes, values));
  std::int64_t flops = TRY(evaluate(task, task.flops, values));
  std::int64_t reduction = TRY(evaluate(task, task.check.reduction, values));
  if (bytes < 0 || flops < 0) return wrong(task, "the cost of a case is below zero");
  if (reduction < 1) {
    return wrong(task, fmt::format("reduction '{}' is {}", task.check.reduction.text(), reduction));
  }
  made.min_bytes = static_cast<double>(bytes);
  made.min_flops = static_cast<double>(flops);
  made.reduction = static_cast<double>(reduction);
  made.rate = task.rate;
  return made;
}

Result<std::vector<Case>> public_cases(const KernelTask& task, Backend backend) {
  std::vector<Case> all;
  for (const PublicCase& known : task.cases) {
    if (std::ranges::find(known.backends, backend) == known.backends.end()) continue;
    Case made = TRY(make_case(task, known.axes));
    for (std::size_t draw = 0; draw < draws_of(task); ++draw) {
      made.draw = draw;
      made.weight =
          draw == 0 ? known.weight : 0;  // every distribution is checked, the first is timed
      all.push_back(made);
    }
  }
  return all;
}

Result<std::vector<Case>> hidden_cases(const KernelTask& task, const Secret& secret) {
  std::vector<Case> all;
  for (int i = 0; i < task.hidden_cases; ++i) {
    all.push_back(TRY(hidden_case(task, secret, static_cast<std::uint64_t>(i))));
  }
  return all;
}

}  // namespace specgen
