#include "evaluate/candidate/launch_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "evaluate/candidate/directive_text.h"

namespace specgen {
namespace {

struct Buffer {  // a tensor of the task, or scratch
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
};

// The line and the directive that a message is about.
struct Place {
  int line = 0;
  std::string_view word;
  std::unexpected<Rejection> refuse(std::string_view reason) const {
    return reject(line, fmt::format("specgen:{}: {}", word, reason));
  }
};

std::optional<std::int64_t> product(std::span<const std::int64_t> factors) {
  std::int64_t all = 1;
  for (std::int64_t factor : factors) {
    if (__builtin_mul_overflow(all, factor, &all)) return std::nullopt;
  }
  return all;
}

class Resolver {
 public:
  Resolver(const Directives& directives, const Case& at, const Values& tunables,
           const LaunchLimits& limits)
      : directives_(directives), at_(at), limits_(limits), values_(at.axes), tunables_(tunables) {
    for (const auto& [name, value] : tunables) values_[name] = value;
  }

  Accepted<LaunchPlan> plan(const KernelTask& task);
  Accepted<std::size_t> cpu_scratch();

 private:
  Accepted<void> collect(const KernelTask& task);
  Accepted<void> collect_scratch();
  Accepted<std::int64_t> scratch_bytes(const ScratchSpec& spec, Buffer& buffer);
  Accepted<void> plan_zeros();
  Accepted<PlannedTensormap> tensormap(const TensormapSpec& spec);
  Accepted<PlannedLaunch> launch(const LaunchSpec& spec);
  Accepted<void> check_cluster(const LaunchSpec& spec, PlannedLaunch& planned);
  Accepted<std::array<unsigned, 3>> dimensions(Place place, const std::array<Expression, 3>& from,
                                               std::string_view what, std::string_view of,
                                               const std::array<std::int64_t, 3>& limits);
  Accepted<PlannedArgument> argument(Place place, const LaunchArgument& from);
  Accepted<PlannedArgument> pointer(Place place, std::size_t buffer, const Expression& offset);

  Accepted<std::int64_t> number(Place place, const Expression& from) const;
  Accepted<std::int64_t> value_of(Place place, const std::string& name) const;
  std::unexpected<Rejection> unknown(Place place, std::string_view name) const;
  // What depends on the shape is reported for a public case only.
  std::unexpected<Rejection> refuse(Place place, std::string_view hidden, std::string reason) const;
  std::optional<std::size_t> buffer_named(std::string_view name) const;

  const Directives& directives_;
  const Case& at_;
  const LaunchLimits& limits_;
  Values values_;
  const Values& tunables_;
  std::vector<ScalarSpec> scalars_;
  std::vector<Buffer> buffers_;
  std::size_t outputs_begin_ = 0;
  std::size_t scratch_begin_ = 0;
  LaunchPlan plan_;
};

std::unexpected<Rejection> Resolver::refuse(Place place, std::string_view hidden,
                                            std::string reason) const {
  if (!at_.hidden) return place.refuse(reason);
  std::string which = at_.hidden_class.empty() ? "" : fmt::format(" ({})", at_.hidden_class);
  return place.refuse(fmt::format("in a hidden case{} {}", which, hidden));
}

std::optional<std::size_t> Resolver::buffer_named(std::string_view name) const {
  auto found = std::ranges::find(buffers_, name, &Buffer::name);
  if (found == buffers_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - buffers_.begin());
}

std::unexpected<Rejection> Resolver::unknown(Place place, std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [value, ignored] : values_) known.push_back(value);
  for (const Buffer& buffer : buffers_) known.push_back(buffer.name);
  for (const ScalarSpec& scalar : scalars_) known.push_back(scalar.name);
  for (const TensormapSpec& map : directives_.tensormaps) known.push_back(map.name);
  return place.refuse(fmt::format("'{}' is not known{}", excerpt(name), did_you_mean(name, known)));
}

Accepted<std::int64_t> Resolver::value_of(Place place, const std::string& name) const {
  if (auto found = values_.find(name); found != values_.end()) return found->second;
  if (buffer_named(name)) {
    return place.refuse(
        fmt::format("'{}' is a tensor: write it first and alone, as in '{} + offset'", name, name));
  }
  if (std::ranges::find(scalars_, name, &ScalarSpec::name) != scalars_.end()) {
    return place.refuse(
        fmt::format("'{}' is a scalar of the task: it can only be an argument by itself", name));
  }
  return unknown(place, name);
}

Accepted<std::int64_t> Resolver::number(Place place, const Expression& from) const {
  for (const std::string& name : from.names()) TRY(value_of(place, name));
  auto value = from.evaluate(values_);
  if (!value) {
    return refuse(place, fmt::format("'{}' cannot be computed", excerpt(from.text())),
                  value.error().context);
  }
  return *value;
}

Accepted<void> Resolver::collect(const KernelTask& task) {
  values_["sizeof_T"] = static_cast<std::int64_t>(size_of(task.element));
  scalars_ = task.scalars;
  auto add = [&](const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      buffers_.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.elements});
    }
  };
  add(at_.inputs);
  outputs_begin_ = buffers_.size();
  add(at_.outputs);
  scratch_begin_ = buffers_.size();
  auto taken = [&](const std::string& name) {
    return buffer_named(name) || at_.axes.contains(name) ||
           std::ranges::find(scalars_, name, &ScalarSpec::name) != scalars_.end();
  };
  auto check = [&](const auto& specs, std::string_view word) -> Accepted<void> {
    for (const auto& spec : specs) {
      if (!taken(spec.name)) continue;
      return reject(spec.line, fmt::format("specgen:{}: '{}' is a name of the task: take another",
                                           word, spec.name));
    }
    return {};
  };
  TRY(check(directives_.tunables, "tune"));
  TRY(check(directives_.scratch, "scratch"));
  TRY(check(directives_.tensormaps, "tensormap"));
  return {};
}

Accepted<std::int64_t> Resolver::scratch_bytes(const ScratchSpec& spec, Buffer& buffer) {
  Place place{spec.line, "scratch"};
  std::string what = spec.name.empty() ? "it" : fmt::format("'{}'", spec.name);
  buffer = {.name = spec.name, .dtype = spec.dtype, .shape = {}};
  for (const Expression& size : spec.shape) {
    std::int64_t length = TRY(number(place, size));
    if (length < 0) {
      return refuse(place, fmt::format("{} has a negative size", what),
                    fmt::format("{} has a negative size: {} is {}", what, size.text(), length));
    }
    buffer.shape.push_back(length);
  }
  std::vector<std::int64_t> factors = buffer.shape;
  bool empty = std::ranges::find(factors, 0) != factors.end();
  factors.push_back(static_cast<std::int64_t>(size_of(spec.dtype)));
  std::optional<std::int64_t> bytes = empty ? 0 : product(factors);
  if (!bytes || *bytes > limits_.scratch_bytes) {
    std::string limit = format_bytes(Bytes{static_cast<std::uint64_t>(limits_.scratch_bytes)});
    return refuse(place, fmt::format("{} is too large; the limit is {}", what, limit),
                  fmt::format("{} has {}; the limit is {}", what,
                              bytes ? format_bytes(Bytes{static_cast<std::uint64_t>(*bytes)})
                                    : std::string("more bytes than can be counted"),
                              limit));
  }
  buffer.elements = *bytes / factors.back();
  return *bytes;
}

Accepted<void> Resolver::collect_scratch() {
  std::int64_t all = 0;
  for (const ScratchSpec& spec : directives_.scratch) {
    Place place{spec.line, "scratch"};
    if (spec.name.empty()) {
      return place.refuse("it has no name, so no kernel can get it: NAME DTYPE[dimensions]");
    }
    Buffer buffer;
    std::int64_t bytes = TRY(scratch_bytes(spec, buffer));
    all += bytes;  // cannot overflow: few, and each below the limit
    if (all > limits_.scratch_bytes) {
      std::string limit = format_bytes(Bytes{static_cast<std::uint64_t>(limits_.scratch_bytes)});
      return refuse(place, fmt::format("all scratch together is too large; the limit is {}", limit),
                    fmt::format("all scratch together has {}; the limit is {}",
                                format_bytes(Bytes{static_cast<std::uint64_t>(all)}), limit));
    }
    buffers_.push_back(std::move(buffer));
    // An empty buffer still needs an address.
    plan_.scratch_bytes.push_back(std::max(static_cast<std::size_t>(bytes), size_of(spec.dtype)));
  }
  return {};
}

Accepted<void> Resolver::plan_zeros() {
  for (const ZeroedOutput& zero : directives_.zeroed_outputs) {
    Place place{zero.line, "zero"};
    auto buffer = buffer_named(zero.name);
    if (!buffer) return unknown(place, zero.name);
    if (*buffer < outputs_begin_) {
      return place.refuse(fmt::format("'{}' is an input: it cannot be written", zero.name));
    }
    plan_.zeroed_buffers.push_back(*buffer);
  }
  for (std::size_t i = 0; i < directives_.scratch.size(); ++i) {
    if (directives_.scratch[i].zeroed) plan_.zeroed_buffers.push_back(scratch_begin_ + i);
  }
  std::ranges::sort(plan_.zeroed_buffers);
  return {};
}

Accepted<std::array<unsigned, 3>> Resolver::dimensions(Place place,
                                                       const std::array<Expression, 3>& from,
                                                       std::string_view what, std::string_view of,
                                                       const std::array<std::int64_t, 3>& limits) {
  static constexpr std::array<std::string_view, 3> kDirections{"wide", "high", "deep"};
  std::array<unsigned, 3> sizes{};
  for (std::size_t i = 0; i < 3; ++i) {
    std::int64_t size = TRY(number(place, from[i]));
    std::string hidden =
        fmt::format("{} '{}' is outside its limits", what, excerpt(from[i].text()));
    std::string reason = fmt::format("{} is {} {} {}", what, size, of, kDirections[i]);
    if (size < 1) return refuse(place, hidden, reason);
    if (size > limits[i]) {
      return refuse(place, hidden, fmt::format("{}; the limit is {}", reason, limits[i]));
    }
    sizes[i] = static_cast<unsigned>(size);
  }
  return sizes;
}

Accepted<void> Resolver::check_cluster(const LaunchSpec& spec, PlannedLaunch& planned) {
  Place place{spec.line, "launch"};
  std::int64_t most = limits_.cluster_blocks;
  planned.cluster = TRY(dimensions(place, *spec.cluster, "cluster", "blocks", {most, most, most}));
  std::int64_t blocks = 1;
  for (unsigned size : planned.cluster) blocks *= size;
  if (blocks > most) {
    return refuse(place, "a cluster has too many blocks",
                  fmt::format("a cluster has {} blocks; the limit is {}", blocks, most));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (planned.grid[i] % planned.cluster[i] == 0) continue;
    return refuse(place, "the cluster does not divide the grid",
                  fmt::format("the cluster ({}) does not divide the grid ({})",
                              fmt::join(planned.cluster, ", "), fmt::join(planned.grid, ", ")));
  }
  return {};
}

Accepted<PlannedLaunch> Resolver::launch(const LaunchSpec& spec) {
  Place place{spec.line, "launch"};
  PlannedLaunch planned;
  for (const std::string& text : spec.template_arguments) {
    auto parsed = Expression::parse(text);
    if (!parsed) continue;
    for (const std::string& name : parsed->names()) {
      if (!at_.axes.contains(name)) continue;
      return place.refuse(fmt::format(
          "'{}' is an axis: template arguments can use tunables, the kernel is compiled once",
          name));
    }
  }
  planned.grid = TRY(dimensions(place, spec.grid, "grid", "blocks", limits_.grid));
  planned.block = TRY(dimensions(place, spec.block, "block", "threads", limits_.block));
  std::int64_t threads = 1;
  for (unsigned size : planned.block) threads *= size;
  if (threads > limits_.threads_per_block) {
    return refuse(
        place, "a block has too many threads",
        fmt::format("a block has {} threads; the limit is {}", threads, limits_.threads_per_block));
  }
  std::int64_t shared = TRY(number(place, spec.shared_bytes));
  if (shared < 0 || shared > limits_.shared_bytes) {
    return refuse(place, "the shared memory is outside its limits",
                  fmt::format("a block has {} bytes of shared memory; the limit is {}", shared,
                              limits_.shared_bytes));
  }
  planned.shared_bytes = static_cast<unsigned>(shared);
  if (spec.cluster) TRY(check_cluster(spec, planned));
  planned.cooperative = spec.cooperative;
  for (const LaunchArgument& from : spec.arguments) {
    planned.arguments.push_back(TRY(argument(place, from)));
  }
  return planned;
}

Accepted<PlannedArgument> Resolver::pointer(Place place, std::size_t buffer,
                                            const Expression& offset) {
  const Buffer& tensor = buffers_[buffer];
  std::int64_t elements = TRY(number(place, offset));
  if (elements < 0 || elements > tensor.elements) {
    return refuse(
        place, fmt::format("'{} + {}' is outside the tensor", tensor.name, excerpt(offset.text())),
        fmt::format("'{} + {}' is outside the tensor: it has {} elements", tensor.name, elements,
                    tensor.elements));
  }
  return PlannedArgument{.kind = PlannedArgument::Kind::pointer,
                         .buffer = buffer,
                         .integer = elements * static_cast<std::int64_t>(size_of(tensor.dtype))};
}

Accepted<PlannedArgument> Resolver::argument(Place place, const LaunchArgument& from) {
  using Kind = PlannedArgument::Kind;
  if (auto* real = std::get_if<RealArgument>(&from)) {
    return PlannedArgument{.kind = Kind::real, .real = real->value};
  }
  if (auto* integer = std::get_if<IntegerArgument>(&from)) {
    return PlannedArgument{.kind = Kind::integer, .integer = TRY(number(place, integer->value))};
  }
  if (auto* sum = std::get_if<PointerArgument>(&from)) {
    if (auto buffer = buffer_named(sum->tensor)) return pointer(place, *buffer, sum->offset);
    std::int64_t value = TRY(value_of(place, sum->tensor));
    if (__builtin_add_overflow(value, TRY(number(place, sum->offset)), &value)) {
      return refuse(place, "an argument is too large",
                    fmt::format("'{} + {}' is too large", sum->tensor, sum->offset.text()));
    }
    return PlannedArgument{.kind = Kind::integer, .integer = value};
  }
  const std::string& name = std::get<NamedArgument>(from).name;
  if (auto buffer = buffer_named(name)) return pointer(place, *buffer, Expression());
  auto map = std::ranges::find(directives_.tensormaps, name, &TensormapSpec::name);
  if (map != directives_.tensormaps.end()) {
    return PlannedArgument{
        .kind = Kind::tensormap,
        .buffer = static_cast<std::size_t>(map - directives_.tensormaps.begin())};
  }
  auto scalar = std::ranges::find(scalars_, name, &ScalarSpec::name);
  if (scalar != scalars_.end()) return PlannedArgument{.kind = Kind::real, .real = scalar->value};
  return PlannedArgument{.kind = Kind::integer, .integer = TRY(value_of(place, name))};
}

// The driver's rules, checked here for a better message than its error number.
Accepted<PlannedTensormap> Resolver::tensormap(const TensormapSpec& spec) {
  Place place{spec.line, "tensormap"};
  auto found = buffer_named(spec.tensor);
  if (!found) return unknown(place, spec.tensor);
  const Buffer& tensor = buffers_[*found];
  PlannedTensormap map;
  map.buffer = *found;
  map.dtype = tensor.dtype;
  map.swizzle = spec.swizzle;
  if (spec.box.size() != tensor.shape.size()) {
    return place.refuse(fmt::format("box has {} dimensions, '{}' has {}", spec.box.size(),
                                    spec.tensor, tensor.shape.size()));
  }
  auto element = static_cast<std::int64_t>(size_of(tensor.dtype));
  for (std::size_t i = spec.box.size(); i-- > 0;) {
    std::int64_t length = tensor.shape[i];
    if (length < 1 || length > (std::int64_t{1} << 32)) {
      return refuse(
          place, "a dimension is outside the limits of a tensormap",
          fmt::format("a dimension of '{}' is {}; 1 to 2^32 is possible", spec.tensor, length));
    }
    std::int64_t size = TRY(number(place, spec.box[i]));
    if (size < 1 || size > 256) {
      return refuse(place, "box is outside its limits",
                    fmt::format("box has a side of {}; 1 to 256 is possible", size));
    }
    map.dimensions.push_back(static_cast<std::uint64_t>(length));
    map.box.push_back(static_cast<std::uint32_t>(size));
  }
  std::int64_t box_row = map.box[0] * element;
  if (box_row % 16 != 0) {
    return refuse(place, "a tile row is not a multiple of 16 bytes",
                  fmt::format("a tile row has {} bytes; it must be a multiple of 16", box_row));
  }
  if (spec.swizzle > 0 && box_row > spec.swizzle) {
    return refuse(
        place, "a tile row is longer than the swizzle",
        fmt::format("a tile row has {} bytes, more than swizzle {}", box_row, spec.swizzle));
  }
  std::int64_t row = tensor.shape.back() * element;
  if (tensor.shape.size() > 1 && row % 16 != 0) {
    return refuse(place, fmt::format("a row of '{}' is not a multiple of 16 bytes", spec.tensor),
                  fmt::format("a row of '{}' has {} bytes; a tensormap needs a multiple of 16",
                              spec.tensor, row));
  }
  return map;
}

Accepted<LaunchPlan> Resolver::plan(const KernelTask& task) {
  if (directives_.launches.empty()) return reject(0, "there is no specgen:launch line");
  TRY(collect(task));
  TRY(collect_scratch());
  TRY(plan_zeros());
  for (const TensormapSpec& spec : directives_.tensormaps) {
    plan_.tensormaps.push_back(TRY(tensormap(spec)));
  }
  for (const LaunchSpec& spec : directives_.launches) {
    PlannedLaunch planned = TRY(launch(spec));
    planned.name_expression = TRY(name_expression(spec, tunables_));
    plan_.launches.push_back(std::move(planned));
  }
  return std::move(plan_);
}

Accepted<std::size_t> Resolver::cpu_scratch() {
  if (!directives_.launches.empty()) {
    return reject(directives_.launches[0].line, "specgen:launch is for CUDA candidates");
  }
  if (!directives_.tensormaps.empty()) {
    return reject(directives_.tensormaps[0].line, "specgen:tensormap is for CUDA candidates");
  }
  if (!directives_.zeroed_outputs.empty()) {
    return reject(directives_.zeroed_outputs[0].line, "specgen:zero is for CUDA candidates");
  }
  if (directives_.scratch.empty()) return 0;
  if (directives_.scratch.size() > 1) {
    return reject(directives_.scratch[1].line,
                  "specgen:scratch: a CPU candidate has one scratch buffer: add the sizes up");
  }
  const ScratchSpec& spec = directives_.scratch[0];
  if (spec.zeroed) return reject(spec.line, "specgen:zero is for CUDA candidates");
  Buffer buffer;
  return static_cast<std::size_t>(TRY(scratch_bytes(spec, buffer)));
}

}  // namespace

Accepted<LaunchPlan> resolve(const Directives& directives, const KernelTask& task, const Case& at,
                             const Values& tunables, const LaunchLimits& limits) {
  return Resolver(directives, at, tunables, limits).plan(task);
}

Accepted<std::size_t> resolve_scratch(const Directives& directives, const Case& at,
                                      const Values& tunables, const LaunchLimits& limits) {
  return Resolver(directives, at, tunables, limits).cpu_scratch();
}

}  // namespace specgen
